#include "rill/ops/table/take_along_axis.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(take_along_axis, takes_other_positions_everywhere) {
  auto const x = matrix<int>({{1, 2, 3}, {4, 5, 6}}), which = matrix<int>({{2, 0}, {1, 1}});
  auto const y = test::run([](auto const& in) { return take_along_axis(in[0], in[1], 1); }, {x, which});
  EXPECT_TRUE(same_bits(y, matrix<int>({{3, 1}, {5, 5}})));
  graph g;
  auto const a = placeholder<float, "n", 3>(g);
  static_assert(decltype(take_along_axis<1>(a, placeholder<int, "n", 5>(g)))::static_type == of<float, "n", 5>);
}

TEST(take_along_axis, and_its_derivative_have_the_same_bits_on_any_number_of_threads) {
  for (auto const& extents : {shape{90, 60, 1}, shape{3, 60, 150}}) {
    auto const x = test::scattered(dtype::float32, extents);
    std::vector<double> indices;
    for (std::int64_t i = 0; i < x.elements(); ++i) indices.push_back(static_cast<double>(i * i % 60));
    auto const which = test::from_doubles(dtype::int32, extents, indices);
    auto const forth = [](auto const& in) { return take_along_axis(in[0], in[1], 1); };
    auto const back = [](auto const& in) { return scatter_along_axis(in[0], in[1], in[2], 1); };
    EXPECT_TRUE(same_bits(test::run(forth, {x, which}, 1), test::run(forth, {x, which}, 4)));
    EXPECT_TRUE(same_bits(test::run(back, {which, x, x}, 1), test::run(back, {which, x, x}, 4)));
  }
}

TEST(take_along_axis, names_an_index_that_is_outside_and_refuses_extents_that_differ) {
  auto const refuses = [](std::string const& why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  auto const x = test::counting(dtype::float32, {2, 3});
  refuses("index 3 is -1, and axis 1 has 3 elements", [&] {
    test::run([](auto const& in) { return take_along_axis(in[0], in[1], 1); },
              {x, test::from_doubles(dtype::int64, {2, 2}, {0, 1, 2, -1})});
  });
  refuses("index 0 is 2, and axis 0 has 2 elements", [&] {
    test::run([](auto const& in) { return scatter_along_axis(in[0], in[1], in[2], 0); },
              {test::from_doubles(dtype::int64, {1, 3}, {2, 0, 0}), test::counting(dtype::float32, {1, 3}), x});
  });
  graph g;
  auto const a = placeholder(g, of<float, 2, 3>);
  refuses("extents differ along another axis", [&] { take_along_axis(a, placeholder(g, of<int, 1, 3>), 1); });
  refuses("do not have the operand's rank", [&] { take_along_axis(a, placeholder(g, of<int, 2>), 0); });
  refuses("neither int32 nor int64", [&] { take_along_axis(a, a, 0); });
  refuses("there is not one element for each index",
          [&] { scatter_along_axis(placeholder(g, of<int, 2, 2>), a, a, 1); });
}

}  // namespace
}  // namespace rill
