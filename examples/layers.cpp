// Learns Shakespeare's plays character by character with an LSTM of two layers, of which each lies in a process of its
// own. The loop over the characters goes over both: in each iteration the lower layer sends its outputs to the upper
// one. Each process has
//
//   RILL_CLUSTER='worker=ADDRESS,ADDRESS' RILL_TASK=worker:0
//
// in its environment. Worker 0 trains, and worker 1 serves until SIGTERM. Without RILL_CLUSTER one process has both
// layers, and prints the same losses to the last bit. `layers --steps N` makes N steps instead of 20.
#include "shakespeare/text.hpp"

#include <rill/net.hpp>
#include <rill/rill.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <tuple>

namespace {

constexpr std::int64_t time = 32, columns = 16, width = 32, units = 64;
using cell = rill::lstm_cell<units>;

/// The handles of the graph: characters, those that follow them, and the mean loss.
struct model {
  rill::expr<rill::of<std::int32_t, time, columns>> seen, next;
  rill::expr<rill::of<float>> loss;
  rill::operation train;
};

model record(rill::graph& g, std::int64_t characters) {
  using namespace rill;
  auto const below = [&](auto const& f) { return g.on("/job:worker/task:0", f); };
  auto const above = [&](auto const& f) { return g.on("/job:worker/task:1", f); };
  auto const seen = placeholder<std::int32_t, time, columns>(g, "seen");
  auto const next = placeholder<std::int32_t, time, columns>(g, "next");
  dim const letters(characters);
  auto const embedding =
      below([&] { return variable(g, {dtype::float32, {letters, dim(width)}}, "embedding", normal(0, 0.1)); });
  auto const lower = below([&] { return recurrent_layer<cell, of<float, width>>(g, "lower"); });
  auto const upper = above([&] { return recurrent_layer<cell, of<float, units>>(g, "upper"); });
  auto const w = above([&] { return variable(g, {dtype::float32, {dim(units), letters}}, "output", glorot()); });

  auto const none = fill<columns, units>(constant(g, 0.f));
  auto const results = while_loop(
      [](auto i, auto...) { return i < time; },
      [&](auto i, auto h, auto c, auto upper_h, auto upper_c, auto nats) {
        auto const x = below([&] { return as<of<float, columns, width>>(gather(embedding, gather(seen, i))); });
        auto const [h2, c2] = below([&] { return lower.step(x, std::tuple{h, c}); });
        auto const [upper_h2, upper_c2] = above([&] { return upper.step(h2, std::tuple{upper_h, upper_c}); });
        auto const more = above(
            [&] { return as<of<float>>(sum(softmax_cross_entropy(matmul(value(upper_h2), w), gather(next, i)))); });
        return std::tuple{i + std::int64_t{1}, h2, c2, upper_h2, upper_c2, nats + more};
      },
      constant(g, std::int64_t{0}), none, none, none, none, constant(g, 0.f));
  auto const loss = std::get<5>(results) / static_cast<float>(time * columns);
  return {seen, next, loss, adam{.rate = 0.003f}.minimize(loss)};
}

/// The characters of a step, from `first` on in each of as many parts of the text as a batch has columns.
rill::tensor characters_of(std::string const& text, shakespeare::vocabulary const& v, std::size_t first) {
  rill::tensor t(rill::dtype::int32, {time, columns});
  auto const part = text.size() / std::size_t{columns};
  for (std::size_t i = 0; i < std::size_t{time * columns}; ++i) {
    auto const at = i % columns * part + (first + i / columns) % part;
    t.mutable_data<std::int32_t>()[i] = v.number(text[at]);
  }
  return t;
}

void train(rill::target const& target, long steps) {
  auto const text = shakespeare::read_text(shakespeare::shakespeare_txt());
  shakespeare::vocabulary const v(text);
  rill::graph g(1);
  auto const m = record(g, v.size());
  rill::session s{g, {.soft_placement = true, .target = target}};
  s.run(rill::initializer(g));
  auto step = s.prepare(rill::inputs(m.seen, m.next), rill::outputs(m.loss), m.train);
  for (long i = 0; i < steps; ++i) {
    auto const first = static_cast<std::size_t>(i * time);
    float const loss = step(characters_of(text, v, first), characters_of(text, v, first + 1));
    std::printf("step %3ld: %.9g nats per character\n", i + 1, double{loss});
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  bool const has_steps = argc == 3 && std::string_view(argv[1]) == "--steps";
  if (argc != 1 && !has_steps) {
    std::fprintf(stderr, "layers: expected nothing, or --steps NUMBER\n");
    return 2;
  }
  long const steps = has_steps ? std::stol(argv[2]) : 20;
  if (std::getenv("RILL_CLUSTER") == nullptr) {
    train({}, steps);
    return 0;
  }
  rill::server server{rill::cluster::from_environment()};
  if (!server.is_chief()) return server.join();
  train(server.target(), steps);
  std::printf("%llu messages went to the other process\n",
              static_cast<unsigned long long>(server.traffic().messages_sent));
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "layers: %s\n", e.what());
  return 1;
}
