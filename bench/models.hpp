// The trained networks, in the same sizes as in the peers' program, and the memory of their steps.
#pragma once
#include <rill/ops/array/as.hpp>
#include <rill/ops/array/concat.hpp>
#include <rill/ops/array/placeholder.hpp>
#include <rill/ops/array/reshape.hpp>
#include <rill/ops/array/slice.hpp>
#include <rill/ops/control/while_loop.hpp>
#include <rill/ops/math/relu.hpp>
#include <rill/ops/network/conv2d.hpp>
#include <rill/ops/network/max_pool.hpp>
#include <rill/ops/network/softmax_cross_entropy.hpp>
#include <rill/ops/sum/sum.hpp>
#include <rill/ops/table/gather.hpp>
#include <rill/run/compiled_step.hpp>
#include <rill/train/gradient_descent.hpp>
#include <rill/train/recurrent.hpp>

#include <span>
#include <string>

#include "kernels.hpp"

namespace bench {

/// A network with its training operation and the feeds of a step.
struct training {
  std::shared_ptr<bench::model> model;
  rill::value loss;
  rill::operation update;
  std::vector<rill::value> inputs;
  std::vector<rill::tensor> fed;

  training(std::shared_ptr<bench::model> m, rill::value l, std::vector<rill::value> in, std::vector<rill::tensor> with)
      : model(std::move(m)),
        loss(l),
        update(rill::gradient_descent{0.01f}.minimize(l)),
        inputs(std::move(in)),
        fed(std::move(with)) {
    model->session.run(rill::initializer(model->graph));
  }

  /// Returns how many nodes of a step run on the host because the GPU that they ask for has no kernel.
  int left_to_host() const {
    std::vector<rill::feed> feeds;
    for (std::size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(inputs[i], fed[i]);
    auto const said = model->session.explain(std::span<rill::feed const>(feeds), loss, update, rill::stages::place);
    int n = 0;
    for (auto at = said.find("soft placement"); at != std::string::npos; at = said.find("soft placement", at + 1)) ++n;
    return n;
  }

  /// Runs one step, which fetches the loss and updates every variable.
  bench::step step() const {
    auto& session = model->session;
    if (inputs.size() == 1)
      return [all = *this, call = session.prepare(rill::inputs(inputs[0]), rill::outputs(loss), update)]() mutable {
        call(all.fed[0]);
      };
    return [all = *this, call = session.prepare(rill::inputs(inputs[0], inputs[1]), rill::outputs(loss),
                                                update)]() mutable { call(all.fed[0], all.fed[1]); };
  }
};

/// Trains dense layers of the given sizes, with relu between them, on a batch of vectors.
inline training mlp(std::int64_t batch, std::vector<std::int64_t> const& sizes) {
  return recorded([&](std::shared_ptr<model> const& m) -> training {
    auto const x = rill::placeholder(m->graph, {rill::dtype::float32, {batch, sizes.front()}}, "x");
    auto const label = rill::placeholder(m->graph, {rill::dtype::int32, {batch}}, "label");
    auto h = x;
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      rill::value const w = variable(*m, normal({sizes[i - 1], sizes[i]}), "w"),
                        b = variable(*m, zeros({sizes[i]}), "b");
      h = rill::matmul(h, w) + b;
      if (i + 1 < sizes.size()) h = rill::relu(h);
    }
    auto const loss = rill::mean(rill::softmax_cross_entropy(h, label));
    return {m,
            loss,
            {x, label},
            {normal({batch, sizes.front()}, 1), integers({batch}, static_cast<std::int32_t>(sizes.back()))}};
  });
}
inline training mlp_small() { return mlp(32, {64, 128, 10}); }
inline training mlp_large() { return mlp(128, {784, 1024, 1024, 10}); }

/// Computes only the matrix products of a step of mlp_small: two forwards and three backwards, because the derivative
/// with respect to the batch is not needed.
inline step mlp_small_matmuls() {
  auto m = std::make_shared<model>(as_written);
  auto const v = [&](std::int64_t rows, std::int64_t columns) -> rill::value {
    return variable(*m, normal({rows, columns}));
  };
  auto const x = v(32, 64), w1 = v(64, 128), h = v(32, 128), w2 = v(128, 10), logits = v(32, 10);
  constexpr rill::transposed first{.a = true}, second{.b = true};
  auto const all = rill::group(m->graph, {rill::matmul(x, w1), rill::matmul(h, w2), rill::matmul<first>(h, logits),
                                          rill::matmul<second>(logits, w2), rill::matmul<first>(x, h)});
  m->session.run(rill::initializer(m->graph));
  return run_of(m, all);
}

/// Trains two 5 x 5 convolutions with pooling, a hidden layer and ten classes on images of 28 x 28.
inline training conv() {
  return recorded([](std::shared_ptr<model> const& m) -> training {
    constexpr std::int64_t batch = 64, side = 28, filters[] = {32, 64}, hidden = 1024,
                           pixels = (side / 4) * (side / 4) * filters[1];
    auto const x = rill::placeholder(m->graph, {rill::dtype::float32, {batch, side, side, 1}}, "x");
    auto const label = rill::placeholder(m->graph, {rill::dtype::int32, {batch}}, "label");
    auto const weights = [&](rill::shape const& extents) -> rill::value { return variable(*m, normal(extents), "w"); };
    auto const bias = [&](std::int64_t n) -> rill::value { return variable(*m, zeros({n}), "b"); };
    rill::value h = x;
    for (std::int64_t in = 1; auto const out : filters) {
      h = rill::max_pool(rill::relu(rill::conv2d(h, weights({5, 5, in, out})) + bias(out)));
      in = out;
    }
    h = rill::relu(rill::matmul(rill::reshape(h, {batch, pixels}), weights({pixels, hidden})) + bias(hidden));
    auto const logits = rill::matmul(h, weights({hidden, 10})) + bias(10);
    auto const loss = rill::mean(rill::softmax_cross_entropy(logits, label));
    return {m, loss, {x, label}, {normal({batch, side, side, 1}, 1), integers({batch}, 10)}};
  });
}

/// Trains a language model: an embedding, one LSTM layer unrolled over the steps, and a softmax over the vocabulary.
inline training lstm() {
  return recorded([](std::shared_ptr<model> const& m) -> training {
    constexpr std::int64_t batch = 32, steps = 20, units = 256, vocabulary = 2000;
    auto const ids = rill::placeholder(m->graph, {rill::dtype::int32, {steps + 1, batch}}, "ids");
    auto const embedding = variable(*m, normal({vocabulary, units}), "embedding");
    rill::value const w = variable(*m, normal({2 * units, 4 * units}), "w"), b = variable(*m, zeros({4 * units}), "b");
    rill::value const wo = variable(*m, normal({units, vocabulary}), "wo"),
                      bo = variable(*m, zeros({vocabulary}), "bo");
    auto const at = [&](std::int64_t t) { return rill::reshape(rill::slice(ids, {t, 0}, {1, batch}), {batch}); };
    rill::value c = rill::constant(m->graph, zeros({batch, units})), h = c;
    std::vector<rill::value> losses;
    for (std::int64_t t = 0; t < steps; ++t) {
      auto const gates = rill::matmul(rill::concat({rill::gather(embedding, at(t)), h}, 1), w) + b;
      auto const gate = [&](std::int64_t i) { return rill::slice(gates, {0, i * units}, {batch, units}); };
      auto const i = gate(0), j = gate(1), f = gate(2), o = gate(3);
      c = c * rill::sigmoid(f) + rill::sigmoid(i) * rill::tanh(j);
      h = rill::tanh(c) * rill::sigmoid(o);
      losses.push_back(rill::softmax_cross_entropy(rill::matmul(h, wo) + bo, at(t + 1)));
    }
    return {m, rill::mean(rill::concat(losses, 0)), {ids}, {integers({steps + 1, batch}, vocabulary)}};
  });
}

/// Trains the same model with its steps in a loop: the recurrence is one node, and one operation each gathers the
/// embeddings and computes the losses of all steps.
inline training lstm_dynamic() {
  return recorded([](std::shared_ptr<model> const& m) -> training {
    constexpr std::int64_t batch = 32, steps = 20, units = 256, vocabulary = 2000;
    auto const ids = rill::placeholder(m->graph, {rill::dtype::int32, {steps + 1, batch}}, "ids");
    auto const embedding = variable(*m, normal({vocabulary, units}), "embedding");
    rill::value const wo = variable(*m, normal({units, vocabulary}), "wo"),
                      bo = variable(*m, zeros({vocabulary}), "bo");
    auto const seen = rill::slice(ids, {0, 0}, {steps, batch}), next = rill::slice(ids, {1, 0}, {steps, batch});
    auto const x = rill::as<rill::of<float, steps, batch, units>>(rill::gather(embedding, seen));
    auto const h = rill::dynamic_rnn(rill::lstm_cell<units>{0}, x, "lstm").outputs;
    auto const scores = rill::matmul(rill::reshape(rill::value(h), {steps * batch, units}), wo) + bo;
    auto const loss = rill::mean(rill::softmax_cross_entropy(scores, rill::reshape(next, {steps * batch})));
    return {m, loss, {ids}, {integers({steps + 1, batch}, vocabulary)}};
  });
}

/// The bytes of a step in the steady state, counted by the allocator, and the minimum that must be alive at once.
struct memory {
  std::int64_t peak;  ///< the most that is alive during a step, with variables and feeds but without first values,
                      ///< which are constants of the graph here
  std::int64_t
      least;  ///< variables, feeds, constants, results, and the maximum of intermediate values at one instruction
  std::int64_t variables;
  std::int64_t arena;  ///< the plan's memory for intermediate values
};

inline memory memory_of(std::function<training()> const& make) {
  auto const before = rill::host_allocator().usage().current;
  auto const t = make();
  auto const once = t.step();
  for (int i = 0; i < 3; ++i) once();
  rill::host_allocator().reset_peak();
  once();
  memory result{rill::host_allocator().usage().peak - before, 0, 0, 0};
  for (auto const& i : t.model->graph.initials())
    result.variables += static_cast<std::int64_t>(rill::detail::bytes_of(t.model->graph[i.variable].outputs));
  result.peak -= result.variables;
  rill::run_request r{{}, {t.loss.endpoint()}, {t.update.node}, t.fed};
  for (auto const& x : t.inputs) r.feeds.push_back(x.endpoint());
  auto const plan = t.model->session.executor().find(r)->plan().memory;
  result.arena = static_cast<std::int64_t>(plan.arena);
  result.least = result.variables + static_cast<std::int64_t>(plan.least + plan.held + sizeof(float));
  for (auto const& x : t.fed) result.least += static_cast<std::int64_t>(x.bytes());
  return result;
}

/// The bytes of a step that computes a loop and its gradient, counted as above.
struct loop_memory {
  std::int64_t peak;
  std::int64_t least;  ///< fed and fetched values, and the values that the derivative reads
  double each;         ///< the bytes that an iteration adds to the peak
};

/// Computes the gradient of n iterations of v = tanh(v * 0.5 + 1), which reads tanh's value in each iteration.
inline loop_memory while_gradient_memory(int n) {
  constexpr std::int64_t width = 256;
  auto& allocator = rill::host_allocator();
  auto const peak = [&](int times) {
    auto const before = allocator.usage().current;
    auto m = std::make_shared<model>();
    auto const count = rill::placeholder<std::int32_t>(m->graph, "count");
    auto const x = rill::placeholder<float, width>(m->graph, "x");
    auto const [i, y] = rill::while_loop([&](auto k, auto) { return k < count; },
                                         [](auto k, auto v) { return std::tuple{k + 1, rill::tanh(v * 0.5f + 1.0f)}; },
                                         rill::constant(m->graph, 0), x);
    auto const [dx] = rill::gradients(rill::sum(y), x);
    auto call = m->session.prepare(rill::inputs(count, x), rill::outputs(dx));
    auto const fed = normal({width});
    auto const once = [&] { call(rill::tensor(times), fed); };
    for (int warm = 0; warm < 3; ++warm) once();
    allocator.reset_peak();
    once();
    return allocator.usage().peak - before;
  };
  auto const all = peak(n);
  constexpr auto row = width * static_cast<std::int64_t>(sizeof(float));
  return {all, static_cast<std::int64_t>(sizeof(std::int32_t)) + (2 + n) * row, static_cast<double>(all - peak(0)) / n};
}

}  // namespace bench
