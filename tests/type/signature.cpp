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

TEST(signature, refuses_arguments_that_are_not_as_declared) {
  std::vector<type> const declared{of<float, "n">, of<float, "n">};
  auto const refusal = [&](std::vector<type> const& given) { return sentence([&] { check_call(declared, given); }); };
  EXPECT_EQ(refusal({of<float, 2>, of<float, 2>}), "");
  EXPECT_NE(refusal({of<float, 2>, of<float, 3>}).find("whose axis has the same name"), std::string::npos);
  EXPECT_NE(refusal({of<float, 2>, of<int, 2>}).find("not of the type"), std::string::npos);
  EXPECT_NE(refusal({of<float, 2>}).find("as many values"), std::string::npos);
}

}  // namespace
}  // namespace rill
