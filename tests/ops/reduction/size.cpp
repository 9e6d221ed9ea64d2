#include "rill/ops/reduction/size.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(size, rank_and_shape_are_known_while_the_graph_is_recorded_or_found_by_the_step) {
  graph g;
  auto const x = placeholder<float, "n", 3>(g);
  static_assert(decltype(shape_of(x))::static_type == of<std::int64_t, 2>);
  static_assert(decltype(rank(x))::static_type == of<std::int64_t>);
  static_assert(decltype(size(x))::static_type == of<std::int64_t>);
  auto const open = placeholder(g, type::of_unknown_rank(dtype::string));
  session s{g};
  auto const fed = tensor_of<of<float, 5, 3>>(test::counting(dtype::float32, {5, 3}));
  EXPECT_EQ(test::to_doubles(s.run({{x, fed}}, shape_of(x))), (std::vector<double>{5, 3}));
  EXPECT_EQ(s.run({{x, fed}}, size(x)).item<std::int64_t>(), 15);
  EXPECT_EQ(s.run(rank(x)).item<std::int64_t>(), 2);
  for (auto const& extents_of : {shape{}, shape{0}, shape{2, 1, 4}}) {
    tensor const words(dtype::string, extents_of);
    EXPECT_EQ(s.run({{open, words}}, rank(open)).item<std::int64_t>(), extents_of.rank());
    EXPECT_EQ(s.run({{open, words}}, size(open)).item<std::int64_t>(), elements(extents_of));
    EXPECT_EQ(s.run({{open, words}}, shape_of(open)).elements(), extents_of.rank());
  }
}

TEST(size, counts_what_a_reduction_goes_over) {
  graph g;
  auto const open = placeholder(g, type::of_unknown_rank(dtype::float32));
  session s{g};
  tensor const t(dtype::float32, shape{2, 3, 5});
  auto const count = [&](extents const& axes) {
    return s.run({{open, t}}, detail::count_over(open, axes)).item<std::int64_t>();
  };
  EXPECT_EQ(count({}), 30);
  EXPECT_EQ(count({1}), 3);
  EXPECT_EQ(count({-1, 0}), 10);
  EXPECT_EQ(count({-3, -2}), 6);
}

}  // namespace
}  // namespace rill
