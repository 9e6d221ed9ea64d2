#include "rill/run/feed.hpp"

#include <gtest/gtest.h>

#include "rill/ops/array/placeholder.hpp"

namespace rill {
namespace {

TEST(feed, is_by_handle_typed_handle_or_name) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  feed const typed(x, vector<float>({1, 2})), erased(value(x), tensor(1)), named("x:0", tensor(1.f));
  EXPECT_EQ(typed.to.endpoint(), x.endpoint());
  EXPECT_FALSE(typed.by_name.has_value());
  EXPECT_EQ(erased.with.item<int>(), 1);
  EXPECT_EQ(named.by_name, "x:0");
  EXPECT_FALSE(named.to);
}

TEST(feed, is_checked_while_it_compiles_where_both_types_are_known) {
  using wanted = expr<of<float, 2>>;
  static_assert(std::is_constructible_v<feed, wanted, tensor_of<of<float, 2>>>);
  static_assert(accepts(of<float, "n">, of<float, unknown>));
}

TEST(fetch, of_operations_and_options_yields_nothing) {
  static_assert(detail::yields<value>() && detail::yields<expr<of<float>>>());
  static_assert(!detail::yields<operation>() && !detail::yields<timeout>() && !detail::yields<cancellation>());
}

}  // namespace
}  // namespace rill
