#include "rill/ops/network/glu.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(decltype(glu(expr<of<float, "n", 3, 8>>{}))::static_type == of<float, "n", 3, 4>);
static_assert(decltype(glu<1>(expr<of<float, "n", 4, 8>>{}))::static_type == of<float, "n", 2, 8>);

TEST(glu, lets_the_second_half_say_how_much_of_the_first_passes) {
  auto const y = test::run([](auto const& in) { return glu(in[0]); },
                           {test::from_doubles(dtype::float64, {2, 4}, {1, 2, 0, 1000, 3, 4, -1000, 0})});
  EXPECT_EQ(y.shape(), (shape{2, 2}));
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{0.5, 2, 0, 2}));
}

TEST(glu, refuses_what_has_no_halves) {
  graph g;
  auto const refuses = [&](char const* words, type const& t, std::int64_t axis) {
    test::expect_error(code::invalid_argument, words, [&] { glu(placeholder(g, t), axis); });
  };
  refuses("not a multiple of the number of parts", of<float, 3, 5>, -1);
  refuses("axis is out of range", of<float, 3, 4>, 2);
  refuses("axis is out of range", of<float>, -1);
}

}  // namespace
}  // namespace rill
