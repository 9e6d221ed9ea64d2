#include "rill/run/feed.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stop_token>

#include "base/sentence.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/run/session.hpp"

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

// How many results a run with these fetches has.
template <class... F>
constexpr auto results =
    std::tuple_size_v<decltype(detail::fetched<outputs_of<F...>>::take(std::declval<std::span<tensor>&>()))>;

TEST(fetch, of_operations_and_options_yields_nothing) {
  static_assert(results<value, expr<of<float>>> == 2);
  static_assert(results<operation, timeout, std::stop_token, std::vector<operation>> == 0);
  static_assert(results<outputs_of<value, operation, value>, value> == 3);
}

TEST(timeout, is_the_nearest_time_that_nanoseconds_count) {
  using std::chrono::nanoseconds;
  using seconds = std::chrono::duration<double>;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  static_assert(timeout(seconds(1e-3)).after == std::chrono::milliseconds(1));
  static_assert(timeout(std::chrono::hours(-1)).after == std::chrono::hours(-1));
  for (double n : {1e300, infinity, 9223372037.0}) {
    EXPECT_EQ(timeout(seconds(n)).after, nanoseconds::max()) << n;
    EXPECT_EQ(timeout(seconds(-n)).after, nanoseconds::min()) << n;
  }
  EXPECT_EQ(timeout(std::chrono::hours::min()).after, nanoseconds::min());
  EXPECT_EQ(timeout(std::chrono::duration<float>(-std::numeric_limits<float>::infinity())).after, nanoseconds::min());
  EXPECT_EQ(refusal([] { timeout(seconds(std::numeric_limits<double>::quiet_NaN())); }), code::invalid_argument);
}

TEST(timeout, of_less_than_nothing_ends_a_step_at_once) {
  graph g;
  auto const x = placeholder<float>(g), y = exp(x);
  session s(g);
  for (double n : {-std::numeric_limits<double>::infinity(), -1e300, -1.0})
    EXPECT_EQ(refusal([&] { s.run({{x, tensor(1.f)}}, y, timeout(std::chrono::duration<double>(n))); }),
              code::deadline_exceeded)
        << n;
}

}  // namespace
}  // namespace rill
