// A zero extent, an empty tensor or a zero stride that reaches a division or "element 0".
#include "hostile.hpp"

namespace rill::test {
namespace {

shape with_extent(shape s, std::size_t axis, std::int64_t extent) {
  s[axis] = extent;
  return s;
}

TEST(advisories_empty, a_zero_extent_at_any_axis_of_any_input_is_computed_or_refused) {
  for (auto const& good : good_calls())
    for (std::size_t i = 0; i < good.inputs.size(); ++i)
      for (std::size_t axis = 0; axis < good.inputs[i].rank(); ++axis) {
        auto c = good;
        c.inputs[i] = tensor(good.inputs[i].element(), with_extent(good.inputs[i].shape(), axis, 0));
        expect_steady(c);
      }
}

TEST(advisories_empty, a_zero_extent_at_an_axis_of_all_inputs_is_computed_or_refused) {
  std::size_t computed = 0;
  for (auto const& good : good_calls())
    for (std::size_t axis = 0; axis < 4; ++axis) {
      auto c = good;
      for (auto& t : c.inputs)
        if (axis < t.rank()) t = tensor(t.element(), with_extent(t.shape(), axis, 0));
      computed += bool(expect_steady(c));
    }
  EXPECT_GT(computed, good_calls().size()) << "legal calls on nothing are refused";
}

TEST(advisories_empty, extents_that_are_all_zero_are_computed_or_refused) {
  for (auto const& good : good_calls()) {
    auto c = good;
    for (auto& t : c.inputs) {
      if (t.rank() == 0) continue;
      auto s = t.shape();
      for (std::size_t i = 0; i < s.rank(); ++i) s[i] = 0;
      t = tensor(t.element(), s);
    }
    expect_steady(c);
  }
}

TEST(advisories_empty, sums_means_and_products_of_nothing_are_zero_nan_and_zero) {
  graph g;
  auto const x = placeholder(g, type::of_unknown_rank(dtype::float32));
  auto const y = placeholder(g, type::of_unknown_rank(dtype::float32));
  session s(g, {.threads = 2});
  tensor const none(dtype::float32, {3, 0}), other(dtype::float32, {0, 2});
  EXPECT_EQ(to_doubles(s.run({{x, none}}, sum(x, extents{1}))), std::vector<double>(3, 0));
  for (double m : to_doubles(s.run({{x, none}}, mean(x, extents{1})))) EXPECT_TRUE(std::isnan(m));
  EXPECT_EQ(to_doubles(s.run({{x, none}, {y, other}}, matmul(x, y))), std::vector<double>(6, 0));
  EXPECT_EQ(s.run({{x, other}}, sum(x, extents{1})).shape(), shape{0});
  expect_error(code::invalid_argument, "max", [&] { s.run({{x, none}}, max(x, extents{1})); });
  expect_error(code::invalid_argument, "argmax", [&] { s.run({{x, none}}, argmax(x, 1)); });
}

}  // namespace
}  // namespace rill::test
