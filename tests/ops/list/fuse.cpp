#include "rill/ops/list/fuse.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/run/session.hpp"

namespace {

using namespace rill;

constexpr auto swish = [](auto x, auto beta) { return x / (1.f + exp(-beta * x)); };

template <dtype E> tensor ramp(std::int64_t n) {
  tensor t(E, shape{n});
  for (std::int64_t i = 0; i < n; ++i) t.mutable_data<element_of<E>>()[i] = static_cast<element_of<E>>(i) / 10 - 2;
  return t;
}

TEST(fuse, gives_the_bits_of_the_same_operations_written_out) {
  graph g;
  auto const x = placeholder<float, 1003>(g, "x");
  auto const beta = constant(g, 1.5f);
  auto const fused = fuse<"swish">(swish, x, beta);
  auto const plain = swish(x, beta);
  session s{g, {.passes = pass_options::none()}};
  auto const [a, b] = s.run({{x, ramp<dtype::float32>(1003)}}, fused, plain);
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_EQ(static_cast<value>(fused).name(), "swish");
}

TEST(fuse, is_differentiable_twice_through_its_program) {
  graph g;
  auto const x = placeholder<double, 7>(g, "x");
  auto const beta = placeholder<double>(g, "beta");
  auto const f = [](auto a, auto b) { return a / (1. + exp(-b * a)); };
  auto const [dx, db] = gradients(sum(fuse(f, x, beta)), x, beta);
  auto const [ex, eb] = gradients(sum(f(x, beta)), x, beta);
  auto const [d2] = gradients(sum(square(dx)), x);
  auto const [e2] = gradients(sum(square(ex)), x);
  session s{g};
  auto const [a, b, c, d, e, h] = s.run({{x, ramp<dtype::float64>(7)}, {beta, tensor(1.25)}}, dx, ex, db, eb, d2, e2);
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_TRUE(same_bits(c, d));
  EXPECT_TRUE(same_bits(e, h));
}

TEST(fuse, chooses_and_compares) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const leaky = fuse([](auto a) { return select(a > 0.f, a, a * 0.1f); }, x);
  auto const positive = fuse([](auto a) { return a > 0.f; }, x);
  static_assert(std::same_as<decltype(positive), expr<of<bool, "n">> const>);
  session s{g};
  auto const [y, p] = s.run({{x, tensor(vector<float>({-2, 3}))}}, leaky, positive);
  EXPECT_FLOAT_EQ(y.values()[0], -0.2f);
  EXPECT_FLOAT_EQ(y.values()[1], 3.f);
  EXPECT_FALSE(p.values()[0]);
  EXPECT_TRUE(p.values()[1]);
}

TEST(fuse, broadcasts_its_operands) {
  graph g;
  auto const x = placeholder<float, 2, 3>(g, "x");
  auto const row = constant<float, 3>(g, {1, 2, 3});
  auto const y = fuse([](auto a, auto b) { return a * b + 1.f; }, x, row);
  static_assert(std::same_as<decltype(y), expr<of<float, 2, 3>> const>);
  session s{g};
  auto const r = s.run({{x, tensor(matrix<float>({{1, 1, 1}, {2, 2, 2}}))}}, y);
  EXPECT_EQ(r.values()[5], 7.f);
}

TEST(fuse, a_program_that_fits_no_inputs_is_refused) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  program p;
  p.inputs = {dtype::float64};
  p.outputs = {0};
  EXPECT_THROW(record_erased<ops::fused_op>(g, {std::make_shared<program const>(p)}, {x}), error);
  p.inputs = {dtype::float32, dtype::float32};
  EXPECT_THROW(record_erased<ops::fused_op>(g, {std::make_shared<program const>(p)}, {x}), error);
  p.inputs = {dtype::float32};
  p.outputs = {9};
  EXPECT_THROW(record_erased<ops::fused_op>(g, {std::make_shared<program const>(p)}, {x}), error);
}

TEST(fuse, keeps_equal_constants_once) {
  graph g;
  auto const y = fuse([](auto a) { return (a + 0.5f) * (a - 0.5f) + 0.25f * a; }, placeholder<float, 3>(g, "x"));
  auto const& p = *std::get<std::shared_ptr<program const>>(value(y).origin().attributes[0].second);
  EXPECT_EQ(p.immediates.size(), 2u);
}

TEST(fuse, takes_hundreds_of_constants) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const many = [](auto a) {
    auto all = a;
    for (int i = 1; i <= 500; ++i) all = all + a * static_cast<float>(i);
    return all;
  };
  auto const y = fuse(many, x);
  session s{g};
  EXPECT_EQ(s.run({{x, tensor(vector<float>({1, 2, 3}))}}, y).values()[1], 2.f + 2 * 125250.f);
}

TEST(fuse, refuses_more_lines_than_can_be_numbered) {
  auto const lines = [](int n) {
    graph g;
    auto const x = placeholder<float, 2>(g, "x");
    auto const y = fuse(
        [n](auto a) {
          auto last = a;
          for (int i = 0; i < n; ++i) last = i % 2 ? last + a : last + 1.f;
          return last;
        },
        x);
    session s{g};
    return s.run({{x, tensor(vector<float>({0, 1}))}}, y).values()[1];
  };
  EXPECT_EQ(lines(32767), 32768.f);
  for (int n : {32768, 40000, 70000}) EXPECT_EQ(refusal([&] { lines(n); }), code::invalid_argument) << n;
}

}  // namespace
