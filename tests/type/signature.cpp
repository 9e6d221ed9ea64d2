#include "rill/type/signature.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(signature, is_written_as_a_call_of_the_result_type) {
  constexpr auto one = of<int>(of<float, "n">, of<double>);
  static_assert(one.results.size() == 1 && one.results[0] == of<int>);
  static_assert(one.arguments.size() == 2 && one.arguments[0] == of<float, "n">);
  constexpr auto two = returns(of<int>, of<float>)(of<bool>);
  static_assert(two.results[1] == of<float> && two.arguments[0] == of<bool>);
  constexpr auto none = returns()();
  static_assert(none.results.empty() && none.arguments.empty());
}

TEST(signature, gives_the_names_of_axes_the_extents_of_a_call) {
  std::vector<type> const declared{of<float, "n", 3>, of<float, "n">};
  auto const in_call = [&](type const& a, type const& b, type const& result) {
    return type_in_call(result, declared, std::vector{a, b}).text();
  };
  EXPECT_EQ(in_call(of<float, 2, 3>, of<float, 2>, of<int, "n", "m">), (of<int, 2, "m">.text()));
  EXPECT_EQ(in_call(of<float, 2, 3>, of<float, unknown>, of<int, "n">), (of<int, 2>.text()));
  EXPECT_EQ(in_call(type::of_unknown_rank(dtype::float32), of<float, unknown>, of<int, "n", 4>),
            (of<int, unknown, 4>.text()));
  EXPECT_EQ(in_call(of<float, "batch", 3>, of<float, "batch">, of<int, "n">), (of<int, "batch">.text()));
}

TEST(signature, tells_which_axis_was_given_two_extents) {
  std::vector<type> const declared{of<float, "m", "n">, of<float, "n">, type::of_unknown_rank(dtype::float32)};
  auto const clash = [&](type const& a, type const& b) {
    std::vector<type> const given{a, b, of<float>};
    auto const c = clash_of_names(declared, given);
    EXPECT_EQ(names_agree(declared, given), !c.name.named());
    return c.name.named() ? c.name.text() + " " + c.one.text() + " " + c.other.text() : "";
  };
  EXPECT_EQ(clash(of<float, 2, 3>, of<float, 3>), "");
  EXPECT_EQ(clash(of<float, 2, 3>, of<float, 2>), "n 3 2");
  EXPECT_EQ(clash(of<float, 2, "rows">, of<float, 2>), "n rows 2");
  EXPECT_EQ(clash(of<float, 2, unknown>, of<float, 2>), "");
  EXPECT_EQ(clash(type::of_unknown_rank(dtype::float32), of<float, 2>), "");
}

}  // namespace
}  // namespace rill
