#include "rill/dsl/expr.hpp"

#include <gtest/gtest.h>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill {
namespace {

/// Gives x and its number of rows: two outputs.
struct twin_op {
  static constexpr std::string_view name = "twin";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 2;
  static constexpr std::array<type, 2> infer(no_attributes, type const& x) { return {x, type(dtype::int64)}; }
};

TEST(expr, carries_its_type_for_the_compiler) {
  graph g;
  auto const x = placeholder<float, "n", 2>(g, "x");
  static_assert(typed<decltype(x)> && operand<decltype(x)> && operand<value> && !typed<value>);
  static_assert(decltype(x)::static_type == of<float, "n", 2>);
  static_assert(std::same_as<decltype(x + x), expr<of<float, "n", 2>>>);
  static_assert(std::same_as<decltype(x + constant<float, 1, 2>(g, {1, 2})), expr<of<float, "n", 2>>>);
}

TEST(expr, infers_for_the_compiler_what_the_graph_infers) {
  graph g;
  auto const x = placeholder<float, "n", 2>(g, "x");
  auto const y = -x * 2 + 1.f;
  EXPECT_EQ(y.type(), decltype(y)::static_type);
}

TEST(expr, mixed_with_erased_handles_is_erased) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  value const v = x;
  static_assert(std::same_as<decltype(x + v), value>);
  EXPECT_EQ((x + v).type(), (of<float, 2>));
}

TEST(expr, comes_as_a_tuple_where_an_operation_has_several_outputs) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const [same, rows] = record<twin_op>(x);
  static_assert(std::same_as<decltype(same), expr<of<float, 2>> const>);
  static_assert(std::same_as<decltype(rows), expr<of<std::int64_t>> const>);
  EXPECT_EQ(rows.port, 1);
  EXPECT_EQ(rows.name(), "twin:1");
  auto const erased = record<twin_op>(value(x));
  EXPECT_EQ(erased.size(), 2);
  EXPECT_EQ(g.find("twin:1").type(), type(dtype::int64));
}

TEST(expr, takes_numbers_of_its_own_element_type) {
  graph g;
  auto const n = placeholder<std::int32_t, 2>(g, "n");
  EXPECT_EQ((n * 2).type().element, dtype::int32);
  auto const h = placeholder<half>(g, "h");
  EXPECT_EQ((h + 1.5f).type().element, dtype::float16);
  EXPECT_THROW(value(n) * 1.5, error);
  EXPECT_THROW(value(placeholder(g, of<std::uint8_t>)) + 300, error);
  EXPECT_THROW(value(placeholder(g, of<std::string>)) + 1, error);
}

}  // namespace
}  // namespace rill
