#include "rill/ops/control/custom_gradient.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "rill/grad/gradients.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/run/session.hpp"
#include "rill/train/gradient_descent.hpp"

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

TEST(recompute, trains_the_variables_of_a_part_and_makes_none) {
  tensor const in = matrix<float>({{1, 2}});
  auto const trained = [&](bool again) {
    graph g;
    auto const x = placeholder<float, 1, 2>(g, "x");
    auto const layer = [&] {
      auto const w = variable(fill(constant(g, 0.5f), {2, 3}), "w");
      return sum(square(matmul(value(x), w)));
    };
    value const loss = again ? recompute(g, layer) : layer();
    auto const train = gradient_descent{0.01f}.minimize(loss);
    std::size_t variables = 0;
    for (std::size_t i = 0; i < g.size(); ++i) variables += g[i].op->name == "variable";
    EXPECT_EQ(variables, 1u);
    session s{g};
    s.run(initializer(g));
    for (int i = 0; i < 3; ++i) s.run({{x, in}}, train);
    return s.run({{x, in}}, loss);
  };
  EXPECT_TRUE(same_bits(trained(true), trained(false)));
}

TEST(recompute, sees_what_the_part_saw_of_a_variable_and_of_random_numbers) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const x = constant(g, 1.f);
  auto const up = assign_add(v, constant(g, 10.f));
  auto const y = recompute(g, [&] {
    value const now = g.after({up}, [&] { return read(v); });
    return square(now) * value(x);
  });
  auto const drawn = recompute(g, [&] { return exp(value(x)) * value(uniform<float>(g)); });
  session s{g};
  s.run(initializer(g));
  auto const [squared, by_x] = s.run(y, gradients(y, {value(x)})[0]);
  EXPECT_EQ(tensor(squared).item<float>(), 121);
  EXPECT_EQ(tensor(by_x).item<float>(), 121);
  auto const [product, slope] = s.run(drawn, gradients(drawn, {value(x)})[0]);
  EXPECT_EQ(tensor(product).item<float>(), tensor(slope).item<float>());
}

TEST(recompute, is_fed_what_the_part_is_fed) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  value middle, other;
  auto const y = recompute(g, [&] {
    middle = square(x);
    other = placeholder_with_default(constant(g, 3.f), "other");
    return square(middle) * other;
  });
  auto const dx = gradients(y, {value(x)})[0];
  session s{g};
  EXPECT_EQ(tensor(s.run({{x, tensor(2.f)}}, dx)).item<float>(), 4 * 8 * 3);
  EXPECT_EQ(tensor(s.run({{x, tensor(2.f)}, {middle, tensor(100.f)}}, dx)).item<float>(), 800 * 3);
  EXPECT_EQ(tensor(s.run({{x, tensor(2.f)}, {other, tensor(10.f)}}, dx)).item<float>(), 4 * 8 * 10);
}

TEST(recompute, computes_again_where_the_part_ran_and_by_its_rules) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const rule = [](auto const&, value, value dy) { return std::vector<value>{dy * 7.f}; };
  auto const y = g.on("/device:cpu:0", [&] {
    return g.with_gradient("square", rule, [&] { return recompute(g, [&] { return exp(value(square(x))); }); });
  });
  auto const before = g.size();
  auto const dx = gradients(y, {value(x)})[0];
  std::size_t copies = 0;
  for (std::size_t i = before; i < g.size(); ++i) {
    if (g[i].copy_of < 0) continue;
    ++copies;
    auto const& original = g[static_cast<std::size_t>(g[i].copy_of)];
    EXPECT_EQ(g[i].op, original.op);
    EXPECT_EQ(g[i].device, original.device);
    EXPECT_EQ(g[i].rule, original.rule);
  }
  EXPECT_EQ(copies, 2u);
  auto const second = gradients(dx, {value(x)})[0];  // of 7 exp(x²)
  session s{g};
  EXPECT_NEAR(tensor(s.run({{x, tensor(0.5f)}}, second)).item<float>(), 49 * std::exp(0.25f), 1e-4f);
}

}  // namespace
