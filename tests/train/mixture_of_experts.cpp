#include "rill/train/mixture_of_experts.hpp"

#include "../ops/executions.hpp"
#include "../ops/run.hpp"
#include "base/limit.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::scattered;

constexpr std::int64_t count = 4;

// Experts from five columns to three, and a gate.
struct model {
  graph g{7};
  value x = placeholder(g, of<double, "rows", 5>, "x");
  value logits = matmul(x, value(variable(g, of<double, 5, count>, "gate", glorot())));
  std::vector<feed_forward<of<double, 5>, 6, 3>> networks;
  std::vector<value> variables{g.find("gate")};

  model() {
    for (std::int64_t i = 0; i < count; ++i) {
      auto const name = "expert_" + std::to_string(i);
      networks.emplace_back(g, name);
      for (auto const* part : {"/hidden/weights", "/hidden/bias", "/out/weights", "/out/bias"})
        variables.push_back(g.find(name + part));
    }
  }
  std::vector<expert> experts() const { return {networks.begin(), networks.end()}; }

  // Runs all experts on all rows, with weights of 0 for experts that were not chosen.
  value dense(std::int64_t top) {
    std::vector<value> hits;
    auto rest = logits;
    for (std::int64_t k = 0; k < top; ++k) {
      hits.push_back(one_hot(argmax(rest, 1, dtype::int64), count, dtype::float64));
      rest = sub(rest, mul(hits.back(), like(rest, 1e9)));
    }
    auto const chosen = add_n(hits);
    auto const powers = top == 1 ? softmax(logits) : mul(exp(logits), chosen);
    auto const weights = top == 1 ? mul(powers, chosen) : div(powers, sum(powers, extents{1}, true));
    std::vector<value> parts;
    for (std::int64_t i = 0; i < count; ++i)
      parts.push_back(mul(networks[static_cast<std::size_t>(i)](x), slice(weights, extents{0, i}, extents{-1, 1})));
    return add_n(parts);
  }
};

void expect_near(tensor const& got, tensor const& want) {
  ASSERT_EQ(got.shape(), want.shape());
  for (std::int64_t i = 0; i < got.elements(); ++i) EXPECT_NEAR(got.data<double>()[i], want.data<double>()[i], 1e-12);
}

TEST(mixture_of_experts, equals_all_experts_weighted_by_the_gates_choice_and_so_do_its_derivatives) {
  test::allow(300);
  for (std::int64_t top : {1, 2, 4}) {
    SCOPED_TRACE(top);
    model m;
    auto const y = mix_experts(m.x, m.logits, m.experts(), top).result, z = m.dense(top);
    EXPECT_EQ(y.type(), (of<double, "rows", 3>));
    auto by = m.variables;
    by.push_back(m.x);
    auto const d = gradients(sum(square(y), extents{}), by), e = gradients(sum(square(z), extents{}), by);
    test::each_execution s(m.g);
    s.run(initializer(m.g));
    for (std::int64_t rows : {9, 1, 20, 0}) {
      std::vector<feed> const feeds{{m.x, scattered(dtype::float64, {rows, 5}, static_cast<unsigned>(rows))}};
      auto const [mine, all] = s.run(feeds, y, z);
      expect_near(mine, all);
      for (std::size_t i = 0; i < by.size(); ++i) {
        auto const [a, b] = s.run(feeds, d[i], e[i]);
        expect_near(a, b);
      }
    }
  }
}

// A gate masks an expert by -inf. It is chosen after all others, once.
TEST(mixture_of_experts, chooses_an_expert_once_where_logits_are_infinite_or_beyond_every_stand_in) {
  for (auto d : {dtype::float16, dtype::float32}) {
    graph g;
    auto const x = placeholder(g, {d, {3, 2}}, "x"), logits = placeholder(g, {d, {3, 4}}, "logits");
    std::vector<expert> experts;
    for (int i = 0; i < 4; ++i) experts.push_back([i](value rows) { return mul(rows, like(rows, i + 1)); });
    auto const m = mix_experts(x, logits, experts, 3);
    auto const dlogits = gradients(sum(m.result, extents{}), {logits})[0];
    double const inf = INFINITY, lowest = d == dtype::float16 ? -65504 : -3.4e38;
    session s{g};
    std::vector<feed> const feeds{
        {x, test::from_doubles(d, {3, 2}, {1, 1, 1, 1, 1, 1})},
        {logits, test::from_doubles(d, {3, 4}, {-inf, 2, -inf, -inf, lowest, lowest, 0, lowest, -inf, 3, 3, -inf})}};
    auto const [choice, result, slope] = s.run(feeds, m.choice, m.result, dlogits);
    EXPECT_EQ(test::to_doubles(choice), (std::vector<double>{1, 0, 2, 2, 0, 1, 1, 2, 0}));
    EXPECT_EQ(test::to_doubles(result), (std::vector<double>{2, 2, 3, 3, 2.5, 2.5}));
    for (double each : test::to_doubles(slope)) EXPECT_TRUE(std::isfinite(each));
  }
}

TEST(mixture_of_experts, runs_each_expert_only_on_its_rows_and_not_at_all_without_rows) {
  graph g;
  auto const x = placeholder(g, of<float, unknown, 2>, "x"), logits = placeholder(g, of<float, unknown, 3>, "logits");
  // How often each expert ran, and on how many rows.
  std::vector<value> runs, rows_seen;
  std::vector<expert> experts;
  for (int i = 0; i < 3; ++i) {
    auto const n = std::to_string(i);
    auto const ran = variable(g, of<int>, "ran_" + n, zeros()), seen = variable(g, of<int>, "seen_" + n, zeros());
    runs.push_back(ran), rows_seen.push_back(seen);
    experts.push_back([=](value rows) {
      auto const number =
          sum(cast(equal(slice(rows, extents{0, 0}, extents{-1, 1}), slice(rows, extents{0, 0}, extents{-1, 1})),
                   dtype::int32),
              extents{});
      assign_add(ran, like(number, 1));
      assign_add(seen, number);
      return mul(rows, like(rows, i + 1));
    });
  }
  auto const m = mix_experts(x, logits, experts);
  test::each_execution s(g);
  s.run(initializer(g));
  std::vector<feed> const feeds{{x, matrix<float>({{1, 2}, {3, 4}, {5, 6}})},
                                {logits, matrix<float>({{0, 9, 0}, {99, 0, 0}, {0, 50, 0}})}};
  auto const [y, choice] = s.run(feeds, m.result, m.choice);
  EXPECT_EQ(test::to_doubles(choice), (std::vector<double>{1, 0, 1}));
  for (int i : {0, 1}) EXPECT_NEAR(y.at<float>(0, i), 2 * (1 + i), 2e-3);
  EXPECT_EQ(y.at<float>(1, 0), 3);
  EXPECT_EQ(y.at<float>(2, 1), 12);
  auto const numbers = [&](std::vector<value> const& all) {
    std::vector<int> found;
    for (auto const& v : all) found.push_back(s.run(v).item<int>());
    return found;
  };
  EXPECT_EQ(numbers(runs), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(numbers(rows_seen), (std::vector<int>{1, 2, 0}));
}

TEST(mixture_of_experts, learns_what_no_single_expert_could) {
  test::allow(300);
  graph g(5);
  auto const x = placeholder<float, "rows", 2>(g, "x");
  auto const wanted = select(slice<extents{0, 0}, extents{-1, 1}>(x) > 0.f, x * 3.f, x * -2.f);
  auto const m = mixture_of_experts<4, 8>(x, "mixture", 2);
  EXPECT_EQ(g.find("mixture/expert_3/out/weights").type(), (of<float, 8, 2>));
  EXPECT_EQ(g.find("mixture/gate").type(), (of<float, 2, 4>));
  EXPECT_EQ(m.gates.type(), (of<float, "rows", 4>));
  auto const loss = mean(square(as<of<float, "rows", 2>>(m.result) - wanted));
  auto const train = adam{.rate = 0.01}.minimize(loss);
  test::each_execution s(g, {.threads = 1});
  s.run(initializer(g));
  float first = 0, last = 0;
  for (unsigned i = 0; i < 200; ++i) {
    last = s.run({{x, scattered(dtype::float32, {32, 2}, i)}}, loss, train);
    if (i == 0) first = last;
  }
  EXPECT_LT(last, first / 10);
}

TEST(mixture_of_experts, gives_the_same_bits_for_any_number_of_threads) {
  auto const result = [](int threads) {
    model m;
    auto const d = gradients(sum(square(mix_experts(m.x, m.logits, m.experts(), 2).result), extents{}), m.variables);
    test::each_execution s(m.g, {.threads = threads});
    s.run(initializer(m.g));
    std::vector<tensor> all;
    for (auto const& each : d) all.push_back(s.run({{m.x, scattered(dtype::float64, {300, 5})}}, each));
    return all;
  };
  auto const one = result(1), four = result(4);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], four[i]));
}

TEST(mixture_of_experts, runs_in_loops_and_is_differentiated_there) {
  test::allow(300);
  graph g{3};
  auto const x = placeholder<double, "rows", 4>(g, "x");
  auto const gate = variable(g, of<double, 4, 3>, "gate", glorot());
  std::vector<expert> experts;
  std::vector<value> by{x, gate};
  for (auto const* name : {"a", "b", "c"}) {
    experts.push_back(feed_forward<of<double, 4>, 5, 4>(g, name));
    by.push_back(g.find(std::string(name) + "/hidden/weights"));
  }
  auto const layer = [&](value v) { return add(v, mix_experts(v, matmul(v, gate), experts, 2).result); };
  auto const looped = std::get<1>(while_loop([&](value i, value) { return less(i, like(i, 3)); },
                                             [&](value i, value v) { return std::tuple{add(i, like(i, 1)), layer(v)}; },
                                             value(constant(g, 0)), value(x)));
  auto const unrolled = layer(layer(layer(x)));
  auto const mapped = map(layer, value(stack(std::vector<value>{x, unrolled}, 0)));
  auto const apart = stack(std::vector<value>{layer(x), layer(unrolled)}, 0);
  auto const loss = [](value v) { return sum(square(v), extents{}); };
  auto const d = gradients(add(loss(looped), loss(mapped)), by), e = gradients(add(loss(unrolled), loss(apart)), by);
  test::each_execution s(g, {.threads = 1});
  s.run(initializer(g));
  for (std::int64_t rows : {7, 1, 0, 7}) {
    std::vector<feed> const feeds{{x, scattered(dtype::float64, {rows, 4}, static_cast<unsigned>(rows))}};
    auto const [a, b, p, q] = s.run(feeds, looped, unrolled, mapped, apart);
    expect_near(a, b);
    expect_near(p, q);
    for (std::size_t i = 0; i < by.size(); ++i) {
      auto const [mine, theirs] = s.run(feeds, d[i], e[i]);
      expect_near(mine, theirs);
    }
  }
}

TEST(mixture_of_experts, refuses_what_does_not_fit) {
  model m;
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("expected 1 to 4 experts for a row, got 5", [&] { mix_experts(m.x, m.logits, m.experts(), 5); });
  refuses("expected 1 to 4 experts for a row, got 0", [&] { mix_experts(m.x, m.logits, m.experts(), 0); });
  refuses("a column for each expert", [&] { mix_experts(m.x, m.x, m.experts()); });
  refuses("expected a matrix with a known number of columns", [&] {
    mix_experts(m.x, m.logits, std::vector<expert>(count, [](value rows) { return sum(rows, extents{1}); }));
  });
}

TEST(mixture_of_experts_layer, sends_each_row_of_a_batch_of_sequences_through_its_experts) {
  graph g;
  auto const layer = mixture_of_experts_layer<3, 5>(g, 4, "mixture", 2);
  auto const x = placeholder<float, "batch", "time", 4>(g, "x");
  auto const y = layer(x), rows = layer(flatten_rows(x));
  EXPECT_EQ(y.result.type(), (of<float, "batch", "time", 4>));
  EXPECT_EQ((mixture_of_experts<2, 5>(x, "other").result.type()), (of<float, "batch", "time", 4>));
  test::each_execution s{g};
  s.run(initializer(g));
  auto const [a, b] = s.run({{x, scattered(dtype::float32, {2, 3, 4})}}, y.result, rows.result);
  EXPECT_TRUE(same_bits(a, b.reshaped({2, 3, 4})));
}

TEST(mixture_of_experts_layer, shares_its_weights_among_its_calls) {
  graph g(5);
  auto const x = placeholder<float, "rows", 2>(g, "x");
  auto mixed = mixture_of_experts_layer<3, 4>(g, 2, "mixture", 2);
  auto const a = mixed(x), b = mixed(x);
  EXPECT_EQ(mixed.variables().size(), 1 + 3 * 4u);
  EXPECT_EQ(trainable_variables(a.result).size(), mixed.variables().size());
  EXPECT_EQ(trainable_variables(g).size(), mixed.variables().size());
  test::each_execution s(g, {.threads = 1});
  s.run(initializer(g));
  auto const [one, other] = s.run({{x, scattered(dtype::float32, {9, 2})}}, a.result, b.result);
  EXPECT_TRUE(same_bits(one, other));
  test::expect_error(code::invalid_argument, "keep its layer", [&] { mixture_of_experts<3, 4>(x, "mixture"); });
}

}  // namespace
}  // namespace rill
