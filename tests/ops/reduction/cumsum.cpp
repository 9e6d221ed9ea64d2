#include "rill/ops/reduction/cumsum.hpp"

#include "../run.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(cumsum, has_the_static_type_of_its_operand) {
  graph g;
  auto x = placeholder<int, "n", 3>(g, "x");
  auto y = cumsum<-1>(x), z = cumsum<0>(x, {.exclusive = true, .reverse = true});
  static_assert(decltype(y)::static_type == of<int, "n", 3>);
  session s{g};
  auto const [a, b] = s.run({{x, matrix<int>({{1, 2, 3}, {10, 20, 30}})}}, y, z);
  EXPECT_EQ(test::to_doubles(a), (list{1, 3, 6, 10, 30, 60}));
  EXPECT_EQ(test::to_doubles(b), (list{10, 20, 30, 0, 0, 0}));
}

TEST(cumsum, of_bytes_wraps_and_of_short_floats_is_added_in_float) {
  auto const last = [](tensor const& x) {
    return test::to_doubles(test::run([](auto const& in) { return cumsum(in[0], 0); }, {x})).back();
  };
  EXPECT_EQ(last(test::from_doubles(dtype::int8, {3}, {100, 27, 1})), -128);
  EXPECT_EQ(last(test::from_doubles(dtype::uint8, {2}, {255, 2})), 1);
  EXPECT_EQ(last(test::from_doubles(dtype::float16, {4096}, list(4096, 1))), 4096);  // 2048 + 1 is 2048 in float16
}

TEST(cumsum, of_wide_and_of_long_arrays_is_the_plain_loop) {
  for (auto const& extents : {shape{3, 50, 131}, shape{1000, 40}, shape{2, 20000}, shape{1, 7, 1}})
    for (std::size_t axis = 0; axis < extents.rank(); ++axis) {
      auto const x = test::scattered(dtype::float64, extents);
      auto const got = test::to_doubles(
          test::run([axis](auto const& in) { return cumsum(in[0], static_cast<std::int64_t>(axis)); }, {x}, 3));
      auto want = test::to_doubles(x);
      std::size_t inner = 1;
      for (auto i = axis + 1; i < extents.rank(); ++i) inner *= static_cast<std::size_t>(extents[i]);
      auto const length = static_cast<std::size_t>(extents[axis]);
      for (std::size_t i = 0; i < want.size(); ++i)
        if (i / inner % length != 0) want[i] += want[i - inner];
      EXPECT_EQ(got, want);
    }
}

TEST(cumsum, refuses_axes_and_elements_that_it_has_not) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>), scalar = placeholder(g, of<float>), p = placeholder(g, of<bool, 2>);
  test::expect_error(code::invalid_argument, "axis is out of range", [&] { cumsum(x, 2); });
  test::expect_error(code::invalid_argument, "axis is out of range", [&] { cumsum(x, -3); });
  test::expect_error(code::invalid_argument, "axis is out of range", [&] { cumsum(scalar, 0); });
  test::expect_error(code::invalid_argument, "cumsum: the operand is not of numbers", [&] { cumsum(p, 0); });
}

}  // namespace
}  // namespace rill
