#include "rill/ops/control/custom_gradient.hpp"

#include <gtest/gtest.h>

#include "rill/grad/gradients.hpp"
#include "rill/ops/operations.hpp"
#include "rill/run/session.hpp"

namespace {

using namespace rill;

TEST(custom_gradient, is_used_in_the_place_of_the_function_s_own) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const y =
      custom_gradient([](auto a) { return exp(a); }, [](auto a, auto b, auto dy) { return dy * a * b * 10.f; })(x);
  auto const [d] = gradients(sum(y), x);
  session s{g};
  auto const [value, slope] = s.run({{x, tensor(vector<float>({0, 1}))}}, y, d);
  EXPECT_FLOAT_EQ(value.values()[1], std::exp(1.f));
  EXPECT_FLOAT_EQ(slope.values()[0], 0.f);
  EXPECT_FLOAT_EQ(slope.values()[1], 10 * std::exp(1.f));
}

TEST(custom_gradient, takes_several_inputs) {
  graph g;
  auto const x = placeholder<float>(g, "x"), w = placeholder<float>(g, "w");
  auto const y = custom_gradient([](auto a, auto b) { return a * b; },
                                 [](auto a, auto b, auto, auto dy) { return std::tuple{dy * a, dy * b * 2.f}; })(x, w);
  auto const [dx, dw] = gradients(y, x, w);
  session s{g};
  auto const [a, b] = s.run({{x, tensor(3.f)}, {w, tensor(5.f)}}, dx, dw);
  EXPECT_EQ(float(a), 3.f);
  EXPECT_EQ(float(b), 10.f);
}

TEST(custom_gradient, a_rule_that_gives_another_type_is_an_error_that_names_it) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const y = custom_gradient([](auto a) { return exp(a); }, [](auto a, auto, auto) { return sum(a); })(x);
  try {
    gradients(sum(y), x);
    FAIL();
  } catch (error const& e) {
    EXPECT_NE(std::string(e.what()).find("derivative 0 is a float32[], its input a float32[2]"), std::string::npos)
        << e.what();
  }
}

TEST(recompute, gives_the_same_gradient_and_computes_the_part_twice) {
  graph g;
  auto const x = placeholder<float, 64>(g, "x");
  auto const plain = sum(tanh(exp(x) * 0.1f));
  auto const again = sum(recompute(g, [&] { return tanh(exp(x) * 0.1f); }));
  auto const [d] = gradients(plain, x);
  auto const [e] = gradients(again, x);
  session s{g, {.passes = {.fuse = false}}};
  std::vector<float> numbers(64, 0.5f);
  auto const [a, b] = s.run({{x, tensor(tensor::borrow(std::span<float>(numbers), shape{64}))}}, d, e);
  EXPECT_TRUE(same_bits(a, b));
  auto const listing = s.explain({{x, tensor(tensor::borrow(std::span<float>(numbers), shape{64}))}}, again, e);
  std::size_t exps = 0;
  for (auto at = listing.find("exp"); at != listing.npos; at = listing.find("exp", at + 1)) ++exps;
  EXPECT_GE(exps, 2u) << listing;
}

}  // namespace
