#include "rill/train/recurrent.hpp"

#include <gtest/gtest.h>

#include "../ops/executions.hpp"
#include "../ops/run.hpp"
#include "base/sentence.hpp"
#include "recorded.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {
namespace {

using test::scattered;

// Returns the variables of a layer, by the ends of their names.
value weight(graph& g, std::string const& name) { return g.find(name); }

// Returns some of x's elements as doubles.
double at(tensor const& t, std::int64_t i, std::int64_t j, std::int64_t k) { return t.at<double>(i, j, k); }

double sigma(double v) { return 1 / (1 + std::exp(-v)); }

TEST(dynamic_rnn, computes_the_formula_of_each_cell) {
  graph g(3);
  auto const x = placeholder<double, 3, 2, 2>(g, "x");
  auto const plain = dynamic_rnn(rnn_cell<1>{}, x, "rnn");
  auto const gated = dynamic_rnn(gru_cell<1>{}, x, "gru");
  auto const memory = dynamic_rnn(lstm_cell<1>{}, x, "lstm");
  static_assert(std::same_as<decltype(plain.outputs), expr<of<double, 3, 2, 1>>>);
  static_assert(std::same_as<decltype(plain.state), expr<of<double, 2, 1>>>);
  static_assert(std::same_as<decltype(memory.state), std::tuple<expr<of<double, 2, 1>>, expr<of<double, 2, 1>>>>);
  test::each_execution s(g);
  s.run(initializer(g));
  auto const numbers = scattered(dtype::float64, {3, 2, 2});
  std::vector<feed> const feeds{{x, numbers}};
  auto const all = [&](std::string const& name) {
    auto const t = s.run(weight(g, name));
    return std::vector<double>(t.data<double>(), t.data<double>() + t.elements());
  };
  auto const [h_rnn, h_gru, h_lstm, c_lstm] =
      s.run(feeds, plain.outputs, gated.outputs, memory.outputs, std::get<1>(memory.state));
  auto const w = all("rnn/input"), u = all("rnn/state"), wg = all("gru/input"), ug = all("gru/state"),
             wl = all("lstm/input"), ul = all("lstm/state");
  for (int b = 0; b < 2; ++b) {
    double h = 0, hg = 0, hl = 0, c = 0;
    for (int t = 0; t < 3; ++t) {
      double const x0 = at(numbers, t, b, 0), x1 = at(numbers, t, b, 1);
      h = std::tanh(x0 * w[0] + x1 * w[1] + h * u[0]);
      EXPECT_NEAR(at(h_rnn, t, b, 0), h, 1e-12);
      auto const of_x = [&](std::vector<double> const& m, std::size_t gate, std::size_t gates) {
        return x0 * m[gate] + x1 * m[gates + gate];
      };
      double const r = sigma(of_x(wg, 0, 3) + hg * ug[0]), z = sigma(of_x(wg, 1, 3) + hg * ug[1]);
      double const n = std::tanh(of_x(wg, 2, 3) + r * (hg * ug[2]));
      hg = n + z * (hg - n);
      EXPECT_NEAR(at(h_gru, t, b, 0), hg, 1e-12);
      double gate[4];
      for (std::size_t i = 0; i < 4; ++i) gate[i] = of_x(wl, i, 4) + hl * ul[i];
      c = c * sigma(gate[2] + 1) + sigma(gate[0]) * std::tanh(gate[1]);
      hl = std::tanh(c) * sigma(gate[3]);
      EXPECT_NEAR(at(h_lstm, t, b, 0), hl, 1e-12);
    }
    EXPECT_NEAR((c_lstm.at<double>(b, 0)), c, 1e-12);
  }
}

TEST(dynamic_rnn, agrees_with_the_same_cell_unrolled_and_so_do_its_derivatives) {
  graph g(1);
  auto const x = placeholder<double, 5, 3, 4>(g, "x");
  lstm_cell<6> const cell;
  auto const layer = dynamic_rnn(cell, x, "lstm");
  detail::recurrent_weights const w{weight(g, "lstm/input"), weight(g, "lstm/state"), weight(g, "lstm/bias"), {}};
  std::vector<value> state(2, fill(constant(g, tensor(0.)), shape{3, 6}));
  std::vector<value> outputs;
  for (std::int64_t t = 0; t < 5; ++t) {
    auto const row = reshape(slice(x, {t, 0, 0}, {1, 3, 4}), extents{3, 4});
    state = cell.step(add(matmul(row, w.input), w.bias), state, w);
    outputs.push_back(reshape(state[0], extents{1, 3, 6}));
  }
  value const a = sum(square(value(layer.outputs)), extents{0, 1, 2}),
              b = sum(square(concat(outputs, 0)), extents{0, 1, 2});
  std::vector<value> const by{x, w.input, w.state, w.bias};
  auto const da = gradients(a, by), db = gradients(b, by);
  test::each_execution s(g);
  s.run(initializer(g));
  std::vector<feed> const feeds{{x, scattered(dtype::float64, {5, 3, 4})}};
  EXPECT_NEAR(s.run(feeds, a).item<double>(), s.run(feeds, b).item<double>(), 1e-12);
  for (std::size_t i = 0; i < by.size(); ++i) {
    auto const [p, q] = s.run(feeds, da[i], db[i]);
    for (std::int64_t k = 0; k < p.elements(); ++k) EXPECT_NEAR(p.data<double>()[k], q.data<double>()[k], 1e-12);
  }
}

TEST(dynamic_rnn, refuses_lengths_that_no_sequence_has) {
  graph g(2);
  auto const x = placeholder<double, "time", "batch", 2>(g, "x");
  auto const lengths = placeholder<std::int8_t, "batch">(g, "lengths");
  auto const padded = dynamic_rnn(gru_cell<3>{}, x, lengths, "padded");
  session s(g);
  s.run(initializer(g));
  for (int wrong : {-1, 5, -128, 127}) {
    auto const text = sentence([&] {
      s.run({{x, scattered(dtype::float64, {4, 2, 2})},
             {lengths, vector<std::int8_t>({4, static_cast<std::int8_t>(wrong)})}},
            padded.outputs);
    });
    EXPECT_NE(text.find("index 1 is " + std::to_string(wrong) + ", and there are 5 rows"), std::string::npos) << text;
    EXPECT_NE(text.find("lengths_within_time"), std::string::npos) << text;
  }
  // More steps than the lengths' type can count.
  auto const long_ones =
      s.run({{x, scattered(dtype::float64, {300, 1, 2})}, {lengths, vector<std::int8_t>({100})}}, padded.outputs);
  EXPECT_NE(at(long_ones, 99, 0, 0), 0);
  for (std::int64_t t = 100; t < 300; ++t) EXPECT_EQ(at(long_ones, t, 0, 0), 0) << t;
}

TEST(dynamic_rnn, over_a_padded_batch_equals_the_results_of_each_sequence) {
  graph g(2);
  auto const x = placeholder<double, "time", "batch", 2>(g, "x");
  auto const lengths = placeholder<std::int32_t, "batch">(g, "lengths");
  auto const whole = dynamic_rnn(gru_cell<3>{}, x, "gru");
  auto const padded = dynamic_rnn(gru_cell<3>{}, x, lengths, "padded");
  auto const both = bidirectional_rnn(rnn_cell<3>{}, x, lengths, "both");
  test::each_execution s(g);
  s.run(initializer(g));
  for (auto const* part : {"input", "state", "bias", "state_bias"})  // the same weights
    s.run(assign(variable_value{weight(g, std::string("padded/") + part)}, weight(g, std::string("gru/") + part)));
  auto const numbers = scattered(dtype::float64, {4, 3, 2});
  auto const of = vector<std::int32_t>({2, 0, 4});
  auto const [h, last, two] = s.run({{x, numbers}, {lengths, of}}, padded.outputs, padded.state, both.outputs);
  EXPECT_EQ(two.shape(), (shape{4, 3, 6}));
  for (std::int64_t b = 0; b < 3; ++b) {
    auto const n = of.at<std::int32_t>(b);
    tensor alone(dtype::float64, {n, 1, 2});
    for (std::int64_t t = 0; t < n; ++t)
      for (std::int64_t f = 0; f < 2; ++f) alone.mutable_data<double>()[t * 2 + f] = at(numbers, t, b, f);
    auto const [one, end, pair] =
        s.run({{x, alone}, {lengths, vector<std::int32_t>({n})}}, whole.outputs, whole.state, both.outputs);
    for (std::int64_t u = 0; u < 3; ++u) {
      for (std::int64_t t = 0; t < 4; ++t) EXPECT_EQ(at(h, t, b, u), t < n ? at(one, t, 0, u) : 0);
      EXPECT_EQ((last.at<double>(b, u)), (end.template at<double>(0, u)));
    }
    for (std::int64_t u = 0; u < 6; ++u)
      for (std::int64_t t = 0; t < 4; ++t) EXPECT_EQ(at(two, t, b, u), t < n ? at(pair, t, 0, u) : 0);
  }
}

// Runs a cell on the inputs recorded as `name` and compares outputs, last states and derivatives.
template <class Cell> void expect_as_recorded(Cell const& cell, std::string const& name, bool padded) {
  SCOPED_TRACE(name);
  graph g;
  auto const x = placeholder<float, "time", 3, 2>(g, "x");
  auto const lengths = constant<std::int32_t, 3>(g, test::recorded("lengths"));
  auto const h = padded ? dynamic_rnn(cell, x, lengths, "rnn") : dynamic_rnn(cell, x, "rnn");
  auto const last = detail::listed(h.state);
  std::vector<value> sums{sum(value(h.outputs) * constant(g, test::recorded(name + ".by")), extents{})}, by{x};
  for (std::size_t i = 0; i < last.size(); ++i)
    sums.push_back(sum(last[i] * constant(g, test::recorded(name + ".by" + std::to_string(i))), extents{}));
  std::vector<std::string> parts{"input", "state", "bias"};
  if (Cell::biases_state) parts.push_back("state_bias");
  std::vector<operation> fills;
  for (auto const& part : parts) {
    by.push_back(weight(g, "rnn/" + part));
    fills.push_back(assign(variable_value{by.back()}, constant(g, test::recorded(name + "." + part))));
  }
  auto const d = gradients(add_n(sums), by);
  test::each_execution s(g);
  s.run(group(g, fills));
  std::vector<feed> const feeds{{x, test::recorded(name + ".x")}};
  test::expect_recorded(s.run(feeds, value(h.outputs)), name + ".y");
  for (std::size_t i = 0; i < last.size(); ++i)
    test::expect_recorded(s.run(feeds, last[i]), name + ".last" + std::to_string(i));
  test::expect_recorded(s.run(feeds, d[0]), name + ".dx");
  for (std::size_t i = 0; i < parts.size(); ++i) test::expect_recorded(s.run(feeds, d[i + 1]), name + ".d" + parts[i]);
}

TEST(dynamic_rnn, has_the_results_and_derivatives_of_PyTorch_and_of_TensorFlow) {
  for (auto const* framework : {"torch", "tensorflow"})
    for (bool padded : {false, true}) {
      auto const named = [&](char const* kind) {
        return std::string(framework) + "." + kind + (padded ? "_padded" : "_whole");
      };
      expect_as_recorded(lstm_cell<4>{.forget_bias = 0}, named("lstm"), padded);
      expect_as_recorded(gru_cell<4>{}, named("gru"), padded);
    }
}

TEST(dynamic_rnn, learns_to_remember_the_first_element_of_a_sequence) {
  graph g(4);
  auto const x = placeholder<float, 6, 8, 1>(g, "x");
  auto const wanted = placeholder<float, 8, 1>(g, "wanted");
  auto const h = std::get<0>(dynamic_rnn(lstm_cell<8>{}, x, "lstm").state);
  auto const loss = mean(square(dense<1>(h, "out") - wanted));
  auto const train = adam{.rate = 0.03}.minimize(loss);
  test::each_execution s(g, {.threads = 1});
  s.run(initializer(g));
  auto step = s.prepare(inputs(x, wanted), outputs(loss), train);
  float first = 0, last = 0;
  for (int i = 0; i < 300; ++i) {
    auto const numbers = scattered(dtype::float32, {6, 8, 1}, static_cast<unsigned>(i % 7));
    last = step(numbers, numbers.rows(0, 1).reshaped({8, 1}).clone());
    if (i == 0) first = last;
  }
  EXPECT_LT(last, first / 10);
}

TEST(recurrent_layer, and_bidirectional_layer_share_their_weights_among_their_calls) {
  graph g(2);
  auto const x = placeholder<double, "time", "batch", 2>(g, "x");
  auto const lengths = placeholder<std::int32_t, "batch">(g, "lengths");
  bidirectional_layer<gru_cell<3>, of<double, 2>> both(g, "both");
  recurrent_layer<rnn_cell<3>, of<double, 2>> once(g, "once");
  auto const a = both(x, lengths), b = both(x, lengths);
  auto const c = once(x), d = once(x);
  EXPECT_EQ(both.variables().size(), 8u);  // per direction the input's and the state's weights and two biases
  EXPECT_EQ(once.variables().size(), 3u);
  EXPECT_EQ(trainable_variables(g).size(), 11u);
  EXPECT_EQ(g.find("both/backward/state").type(), (of<double, 3, 9>));
  test::each_execution s(g);
  s.run(initializer(g));
  auto const [p, q, r, t] =
      s.run({{x, scattered(dtype::float64, {4, 3, 2})}, {lengths, vector<std::int32_t>({2, 0, 4})}}, a.outputs,
            b.outputs, c.outputs, d.outputs);
  EXPECT_TRUE(same_bits(p, q));
  EXPECT_TRUE(same_bits(r, t));
  for (auto again : {+[](expr<of<double, "time", "batch", 2>> y) { dynamic_rnn(rnn_cell<3>{}, y, "once"); },
                     +[](expr<of<double, "time", "batch", 2>> y) { dynamic_rnn(gru_cell<5>{}, y, "both/forward"); }})
    test::expect_error(code::invalid_argument, "keep its layer", [&] { again(x); });
}

}  // namespace
}  // namespace rill
