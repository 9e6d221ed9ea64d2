#include "rill/train/attention.hpp"

#include "../ops/executions.hpp"
#include "../ops/run.hpp"
#include "recorded.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {
namespace {

using test::expect_recorded, test::recorded, test::scattered;

// Returns softmax(q kᵀ / √d) v for queries [n, d]; each query sees only its first `seen` keys.
std::vector<double> by_loops(tensor const& q, tensor const& k, tensor const& v, auto seen) {
  auto const n = q.shape()[0], d = q.shape()[1], e = v.shape()[1];
  std::vector<double> y;
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t j = 0; j < seen(i); ++j) {
      double score = 0;
      for (std::int64_t l = 0; l < d; ++l) score += q.at<double>(i, l) * k.at<double>(j, l);
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
      sum += weights.back();
    }
    for (std::int64_t l = 0; l < e; ++l) {
      double found = 0;
      for (std::size_t j = 0; j < weights.size(); ++j) found += weights[j] / sum * v.at<double>(j, l);
      y.push_back(found);
    }
  }
  return y;
}

void expect_near(tensor const& got, std::vector<double> const& want) {
  auto const y = test::to_doubles(got);
  ASSERT_EQ(y.size(), want.size());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-14);
}

TEST(attention, weights_values_by_how_well_their_keys_match_a_query) {
  auto const q = scattered(dtype::float64, {4, 3}), k = scattered(dtype::float64, {5, 3}, 2),
             v = scattered(dtype::float64, {5, 2}, 3);
  graph g;
  auto const a = placeholder<double, 4, 3>(g, "q");
  auto const b = placeholder<double, "keys", 3>(g, "k");
  auto const c = placeholder<double, "keys", 2>(g, "v");
  auto const all = attention(a, b, c), causal = attention(a, b, c, {.causal = true});
  static_assert(decltype(all)::static_type == of<double, 4, 2>);
  test::each_execution s{g};
  std::vector<feed> const feeds{{a, q}, {b, k}, {c, v}};
  expect_near(s.run(feeds, all), by_loops(q, k, v, [](auto) { return 5; }));
  expect_near(s.run(feeds, causal), by_loops(q, k, v, [](auto i) { return i + 1; }));
}

TEST(attention, over_a_padded_batch_equals_attention_of_each_sequence_and_is_0_for_empty_ones) {
  graph g;
  auto const x = placeholder<double, "batch", "time", 3>(g, "x");
  auto const lengths = placeholder<std::int16_t, "batch">(g, "lengths");
  auto const y = attention(x, x, x, {.lengths = lengths});
  auto const [dx] = gradients(sum(square(y)), x);
  test::each_execution s{g};
  auto const numbers = scattered(dtype::float64, {3, 4, 3});
  auto const [found, slope] = s.run({{x, numbers}, {lengths, vector<std::int16_t>({2, 0, 4})}}, y, dx);
  for (std::int64_t i : {0, 1, 2}) {
    auto const one = numbers.rows(i, i + 1).reshaped({4, 3});
    auto const mine = found.rows(i, i + 1).reshaped({4, 3});
    if (i == 1) expect_near(mine, std::vector<double>(12, 0.));
    else expect_near(mine, by_loops(one, one, one, [&](auto) { return i == 0 ? 2 : 4; }));
  }
  for (int t : {0, 1, 2, 3})
    for (int f : {0, 1, 2}) EXPECT_EQ((slope.template at<double>(1, t, f)), 0);
}

TEST(attention, refuses_lengths_that_no_sequence_has) {
  graph g;
  auto const x = placeholder<double, "batch", "time", 3>(g, "x");
  auto const lengths = placeholder<std::int8_t, "batch">(g, "lengths");
  auto const y = attention(x, x, x, {.lengths = lengths});
  test::each_execution s{g};
  for (int wrong : {-1, 5, -128, 127})
    test::expect_error(code::invalid_argument, "index 1 is " + std::to_string(wrong) + ", and there are 5 rows", [&] {
      s.run({{x, scattered(dtype::float64, {2, 4, 3})},
             {lengths, vector<std::int8_t>({4, static_cast<std::int8_t>(wrong)})}},
            y);
    });
}

TEST(attention, has_the_results_and_derivatives_of_PyTorch) {
  for (bool causal : {false, true})
    for (bool padded : {false, true}) {
      std::string const name = std::string("torch.attention_") + (causal   ? padded ? "both" : "causal"
                                                                  : padded ? "lengths"
                                                                           : "plain");
      graph g;
      std::vector<value> x;
      std::vector<feed> feeds;
      for (auto const* which : {".q", ".k", ".v"}) {
        x.push_back(placeholder(g, recorded(name + which).type()));
        feeds.emplace_back(x.back(), recorded(name + which));
      }
      attention_mask mask{.causal = causal};
      if (padded) mask.lengths = constant(g, recorded("lengths"));
      auto const y = attention(x[0], x[1], x[2], mask);
      auto const d = gradients(sum(y * constant(g, recorded(name + ".by")), extents{}), x);
      test::each_execution s{g};
      expect_recorded(s.run(feeds, y), name + ".y");
      expect_recorded(s.run(feeds, d[0]), name + ".dq");
      expect_recorded(s.run(feeds, d[1]), name + ".dk");
      expect_recorded(s.run(feeds, d[2]), name + ".dv");
    }
}

TEST(attention, sees_what_a_mask_of_bools_says_and_gives_zeros_to_queries_that_see_nothing) {
  graph g;
  auto const x = placeholder<double, "batch", "time", 3>(g, "x");
  auto const lengths = placeholder<int, "batch">(g, "lengths");
  auto const seen = placeholder<bool, "batch", 1, "time">(g, "seen");
  auto const by_lengths = attention(x, x, x, {.lengths = lengths}), by_bools = attention(x, x, x, {.seen = seen});
  static_assert(std::same_as<decltype(by_bools), expr<of<double, "batch", "time", 3>> const>);
  auto const [da] = gradients(sum(square(by_lengths)), x);
  auto const [db] = gradients(sum(square(by_bools)), x);
  tensor bools(dtype::boolean, {3, 1, 4});
  for (std::int64_t i = 0; i < 12; ++i) bools.mutable_data<bool>()[i] = i / 4 == 1 || (i / 4 == 2 && i % 4 < 3);
  test::each_execution s{g};
  auto const [a, b, p, q] =
      s.run({{x, scattered(dtype::float64, {3, 4, 3})}, {lengths, vector<int>({0, 4, 3})}, {seen, bools}}, by_lengths,
            by_bools, da, db);
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_TRUE(same_bits(p, q));
}

TEST(attention, adds_a_bias_to_the_scores) {
  auto const q = scattered(dtype::float64, {4, 3}), k = scattered(dtype::float64, {5, 3}, 2),
             v = scattered(dtype::float64, {5, 2}, 3);
  graph g;
  auto const a = placeholder<double, 4, 3>(g, "q");
  auto const b = placeholder<double, 5, 3>(g, "k");
  auto const c = placeholder<double, 5, 2>(g, "v");
  auto const bias = placeholder<double, 5>(g, "bias");
  auto const y = attention(a, b, c, {.bias = bias});
  auto const [dbias] = gradients(sum(square(y)), bias);
  test::each_execution s{g};
  tensor const last_is_hidden = vector<double>({0, 0, 0, 0, -INFINITY});
  expect_near(s.run({{a, q}, {b, k}, {c, v}, {bias, last_is_hidden}}, y), by_loops(q, k, v, [](auto) { return 4; }));
  // Softmax does not change with a number that is added to all scores.
  auto const slopes = test::to_doubles(s.run({{a, q}, {b, k}, {c, v}, {bias, vector<double>({1, 2, 3, 4, 5})}}, dbias));
  double total = 0;
  for (double each : slopes) total += each;
  EXPECT_NEAR(total, 0, 1e-14);
}

// Returns attention of two queries to two keys with the values 3 and `future`, and expects finite derivatives.
tensor of_two(dtype d, std::vector<double> const& q, std::vector<double> const& k, std::vector<double> const& bias,
              double future, attention_mask mask) {
  graph g;
  auto const p = [&](char const* name) { return placeholder(g, {d, {1, 2, 1}}, name); };
  auto const a = p("q"), b = p("k"), c = p("v"), e = placeholder(g, {d, {2}}, "bias");
  mask.bias = e;
  auto const y = attention(a, b, c, mask);
  auto const slopes = gradients(sum(y, extents{}), {a, b, c, e});
  session s{g};
  std::vector<feed> const feeds{{a, test::from_doubles(d, {1, 2, 1}, q)},
                                {b, test::from_doubles(d, {1, 2, 1}, k)},
                                {c, test::from_doubles(d, {1, 2, 1}, {3, future})},
                                {e, test::from_doubles(d, {2}, bias)}};
  for (auto const& slope : slopes)
    for (double each : test::to_doubles(s.run(feeds, slope))) EXPECT_TRUE(std::isfinite(each));
  return s.run(feeds, y);
}

// No finite score is low enough to stand for a key that is not seen.
TEST(attention, does_not_see_masked_keys_however_low_the_scores_of_the_others_are) {
  double const inf = INFINITY;
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    SCOPED_TRACE(name(d));
    double const large = d == dtype::float16 ? 250 : d == dtype::float64 ? 1e150 : 1.8e19;
    for (double future : {0., 10.}) {
      // The first query sees the first key alone, whose score is -large².
      auto const low = test::to_doubles(of_two(d, {large, 0}, {-large, 0}, {0, 0}, future, {.causal = true}));
      EXPECT_EQ(low[0], 3);
      // It sees no key, because the bias hides the only one.
      auto const none = test::to_doubles(of_two(d, {1, 1}, {1, 1}, {-inf, 0}, future, {.causal = true}));
      EXPECT_EQ(none, (std::vector<double>{0, future}));
    }
    EXPECT_EQ(test::to_doubles(of_two(d, {1, 1}, {1, 1}, {-inf, -inf}, 10, {})), (std::vector<double>{0, 0}));
    EXPECT_EQ(test::to_doubles(of_two(d, {1, 1}, {1, 1}, {-inf, 0}, 10, {})), (std::vector<double>{10, 10}));
  }
}

TEST(attention, refuses_masks_that_do_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const q = p(of<float, 2, 4, 3>);
  for (auto const& wrong : {of<float, 4, 4>, of<bool, 3, 4, 4>, of<bool, 4, 3>, of<bool, 1, 2, 4, 4>, of<bool>})
    test::expect_error(
        code::invalid_argument,
        "expected a mask's `seen` of bool that broadcasts to the scores float32[2, 4, 4], got " + wrong.text(),
        [&] { attention(q, q, q, {.seen = p(wrong)}); });
  for (auto const& wrong : {of<bool, 4, 4>, of<double, 4, 4>, of<float, 5>})
    test::expect_error(code::invalid_argument, "expected a mask's `bias` of float32",
                       [&] { attention(q, q, q, {.bias = p(wrong)}); });
}

TEST(multi_head_attention, takes_a_mask_for_all_heads_or_for_each) {
  graph g;
  auto const x = placeholder<float, "batch", 3, 4>(g, "x");
  tensor lower(dtype::boolean, {3, 3});
  for (std::int64_t i = 0; i < 9; ++i) lower.mutable_data<bool>()[i] = i % 3 <= i / 3;
  auto const look = multi_head_attention_layer<2>(g, 4, "look");
  auto const causal = look(x, {.causal = true}), seen = look(x, {.seen = constant(g, lower)}),
             each = look(x, {.seen = placeholder<bool, "batch", 2, 3, 3>(g, "each")});
  static_assert(std::same_as<decltype(each), expr<of<float, "batch", 3, 4>> const>);
  test::each_execution s{g};
  s.run(initializer(g));
  auto const [a, b] = s.run({{x, scattered(dtype::float32, {2, 3, 4})}}, causal, seen);
  EXPECT_TRUE(same_bits(a, b));
}

TEST(attention, refuses_what_does_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  auto const q = p(of<float, 2, 4, 3>);
  refuses("columns of the first", [&] { attention(q, p(of<float, 2, 5, 4>), p(of<float, 2, 5, 3>)); });
  refuses("columns of the first", [&] { attention(q, p(of<float, 2, 5, 3>), p(of<float, 2, 6, 3>)); });
  refuses("known number of features", [&] { attention(p(of<float, 4, unknown>), q, q); });
  refuses("expected lengths [batch] of integers, got float32[2]",
          [&] { attention(q, q, q, {.lengths = p(of<float, 2>)}); });
  refuses("do not broadcast", [&] { attention(q, q, q, {.lengths = p(of<int, 3>)}); });
  refuses("a mask with lengths needs operands [batch",
          [&] { attention(p(of<float, 4, 3>), p(of<float, 4, 3>), p(of<float, 4, 3>), {.lengths = p(of<int, 4>)}); });
}

TEST(multi_head_attention, has_the_results_and_derivatives_of_PyTorch) {
  std::string const name = "torch.multi_head.";
  graph g;
  auto const x = placeholder<float, 3, 5, 6>(g, "x");
  auto const y = multi_head_attention<2>(x, "look", {.causal = true, .lengths = constant(g, recorded("lengths"))});
  static_assert(std::same_as<decltype(y), expr<of<float, 3, 5, 6>> const>);
  std::vector<std::string> parts;
  std::vector<value> by{x};
  for (auto const* layer : {"query", "key", "value", "output"})
    for (auto const* part : {"/weights", "/bias"}) {
      parts.push_back(std::string(layer) + part);
      by.push_back(g.find("look/" + parts.back()));
    }
  auto const d = gradients(sum(value(y) * constant(g, recorded(name + "by")), extents{}), by);
  std::vector<operation> fills;
  for (std::size_t i = 0; i < parts.size(); ++i)
    fills.push_back(assign(variable_value{by[i + 1]}, constant(g, recorded(name + parts[i]))));
  test::each_execution s{g};
  s.run(group(g, fills));
  std::vector<feed> const feeds{{x, recorded(name + "x")}};
  expect_recorded(s.run(feeds, value(y)), name + "y");
  expect_recorded(s.run(feeds, d[0]), name + "dx");
  for (std::size_t i = 0; i < parts.size(); ++i) expect_recorded(s.run(feeds, d[i + 1]), name + "d" + parts[i]);
}

TEST(multi_head_attention, attends_to_a_memory_of_other_extents) {
  graph g;
  auto const x = placeholder<float, 2, 3, 8>(g, "x");
  auto const memory = placeholder<float, 2, "places", 5>(g, "memory");
  auto const y = multi_head_attention<4>(x, memory, "look");
  auto const same = multi_head_attention(value(x), value(memory), 4, "again");
  EXPECT_EQ(same.type(), y.type());
  EXPECT_EQ(g.find("look/key/weights").type(), (of<float, 5, 8>));
  test::each_execution s{g};
  s.run(initializer(g));
  EXPECT_EQ(
      s.run({{x, scattered(dtype::float32, {2, 3, 8})}, {memory, scattered(dtype::float32, {2, 7, 5})}}, y).shape(),
      (shape{2, 3, 8}));
  test::expect_error(code::invalid_argument, "divisible by the number of heads",
                     [&] { multi_head_attention(x, memory, 3, "odd"); });
  test::expect_error(code::invalid_argument, "expected [batch, time, features]",
                     [&] { multi_head_attention(x, value(placeholder<float, 2>(g)), 4, "list"); });
}

TEST(multi_head_attention, learns_to_attend_to_the_first_element_of_a_sequence) {
  graph g(3);
  auto const x = placeholder<float, 16, 5, 4>(g, "x");
  auto const first = squeeze<1>(slice<extents{0, 0, 0}, extents{-1, 1, -1}>(x));
  // A learned vector distinguishes the positions.
  auto const places = variable<float, 5, 4>(g, "places", glorot());
  auto const y = multi_head_attention<2>(x + expr(places), "look");
  auto const last = squeeze<1>(slice<extents{0, 4, 0}, extents{-1, 1, -1}>(y));
  auto const loss = mean(square(last - first));
  auto const train = adam{.rate = 0.02}.minimize(loss);
  test::each_execution s(g, {.threads = 1});
  s.run(initializer(g));
  auto step = s.prepare(inputs(x), outputs(loss), train);
  float begin = 0, end = 0;
  for (unsigned i = 0; i < 300; ++i) {
    end = step(scattered(dtype::float32, {16, 5, 4}, i));
    if (i == 0) begin = end;
  }
  EXPECT_LT(end, begin / 10);
}

TEST(multi_head_attention_layer, shares_its_weights_among_its_calls) {
  graph g;
  auto const x = placeholder<float, 2, 3, 8>(g, "x");
  auto const y = placeholder<float, 2, 5, 8>(g, "y");
  auto look = multi_head_attention_layer<4>(g, 8, "look");
  auto const a = look(x, {.causal = true}), b = look(x, x, {.causal = true});
  static_assert(std::same_as<decltype(look(x, y)), expr<of<float, 2, 3, 8>>>);
  auto const c = look(y);
  EXPECT_EQ(look(value(y), value(x)).type(), c.type());
  EXPECT_EQ(look.variables().size(), 8u);
  EXPECT_EQ(trainable_variables(g).size(), 8u);
  auto erased = multi_head_attention_layer(g, of<double, 8>, of<double, 3>, 2, "erased");
  EXPECT_EQ(erased(placeholder(g, of<double, 1, 2, 8>), placeholder(g, of<double, 1, 4, 3>)).type(),
            (of<double, 1, 2, 8>));
  test::each_execution s{g};
  s.run(initializer(g));
  auto const [one, other] = s.run({{x, scattered(dtype::float32, {2, 3, 8})}}, a, b);
  EXPECT_TRUE(same_bits(one, other));
  test::expect_error(code::invalid_argument, "keep its layer", [&] { multi_head_attention<4>(x, "look"); });
  test::expect_error(code::invalid_argument, "divisible by the number of heads",
                     [&] { multi_head_attention_layer<3>(g, 8, "odd"); });
}

}  // namespace
}  // namespace rill
