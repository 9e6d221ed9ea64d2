#include "rill/ops/check/check.hpp"

#include "../run.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill {
namespace {

TEST(check, does_nothing_while_the_condition_holds_and_ends_the_step_when_it_does_not) {
  graph g;
  auto x = placeholder<float, "n">(g, "x");
  auto guarded = g.after({check(x > 0, "x must be positive")}, [&] { return identity(x); });
  session s{g};
  EXPECT_EQ(s.run({{x, vector<float>({1, 2})}}, guarded).values()[1], 2);
  test::expect_error(code::failed_precondition, "x must be positive (element 1 of 3)",
                     [&] { s.run({{x, vector<float>({1, -2, 3})}}, guarded); });
  EXPECT_EQ(s.run({{x, vector<float>({})}}, guarded).elements(), 0);
}

TEST(check, runs_as_a_target) {
  graph g;
  auto x = placeholder<float>(g, "x");
  auto must = check(x < 5, "too much");
  session s{g};
  s.run({{x, tensor_of<of<float>>(tensor(4.f))}}, must);
  test::expect_error(code::failed_precondition, "too much",
                     [&] { s.run({{x, tensor_of<of<float>>(tensor(6.f))}}, must); });
}

TEST(check, takes_bools_alone) {
  graph g;
  test::expect_error(code::invalid_argument, "the condition is not a bool",
                     [&] { check(value(constant(g, 1.f)), ""); });
}

}  // namespace
}  // namespace rill
