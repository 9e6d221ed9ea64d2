// Learns Shakespeare's plays character by character and then writes a sample: an LSTM over padded batches of passages
// of similar lengths. examples/shakespeare --help lists the options.
#include "shakespeare/text.hpp"

#include <rill/rill.hpp>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <string_view>

namespace shakespeare {

constexpr std::string_view help = R"(Learns a text character by character and then writes a sample.

  --minutes N   the maximum training time (8)
  --steps N     the maximum number of batches (4000)
  --threads N   number of threads (one for each processor that may be used)
  --seed N      the seed of the first weights, the order of the passages and the sample (1)
  --text FILE   the text to learn (examples/data/shakespeare.txt)
  --sample N    the number of characters in the sample (500)
)";

struct options {
  long minutes = 8, steps = 4000, threads = 0, seed = 1, sample = 500;
  std::string text;
  bool help = false;
};

options parse(int count, char const* const* words) {
  options o;
  for (int i = 1; i < count; ++i) {
    std::string_view const word = words[i];
    if (word == "--help" || word == "-h") {
      o.help = true;
      continue;
    }
    if (i + 1 == count)
      throw std::invalid_argument(std::string(word) +
                                  ": expected a known option with an argument; --help lists all options");
    std::string_view const argument = words[++i];
    auto const number = [&](long& to, long least) {
      auto const [end, problem] = std::from_chars(argument.data(), argument.data() + argument.size(), to);
      if (problem != std::errc() || end != argument.data() + argument.size() || to < least)
        throw std::invalid_argument(std::string(word) + ": expected a number from " + std::to_string(least) +
                                    " on, got '" + std::string(argument) + "'");
    };
    if (word == "--minutes") number(o.minutes, 1);
    else if (word == "--steps") number(o.steps, 1);
    else if (word == "--threads") number(o.threads, 1);
    else if (word == "--seed") number(o.seed, 0);
    else if (word == "--sample") number(o.sample, 0);
    else if (word == "--text") o.text = argument;
    else throw std::invalid_argument("unknown option " + std::string(word) + "; --help lists all options");
  }
  return o;
}

constexpr std::int64_t columns = 32, width = 64, units = 256;
using cell = rill::lstm_cell<units>;
using layer = rill::recurrent_layer<cell, rill::of<float, width>>;
constexpr rill::type state = rill::of<float, 1, units>;

/// The handles of the graph: a loss over padded batches, and a step of one character for the sample.
struct model {
  rill::expr<rill::of<std::int32_t, "time", columns>> seen, next;
  rill::expr<rill::of<std::int32_t, columns>> lengths;
  rill::value loss, nats;  // the mean per character, and the sum over all
  rill::operation train;
  rill::expr<rill::of<std::int32_t, 1>> last;
  rill::expr<state> h, c;
  rill::value scores;
  rill::expr<state> next_h, next_c;
};

model record(rill::graph& g, std::int64_t characters) {
  using namespace rill;
  auto const seen = placeholder<std::int32_t, "time", columns>(g, "seen");
  auto const next = placeholder<std::int32_t, "time", columns>(g, "next");
  auto const lengths = placeholder<std::int32_t, columns>(g, "lengths");
  value const embedding = variable(g, {dtype::float32, {dim(characters), dim(width)}}, "embedding", normal(0, 0.1));
  layer const memory(g, "lstm", cell{});
  value const w = variable(g, {dtype::float32, {dim(units), dim(characters)}}, "output/weights", glorot());
  value const b = variable(g, {dtype::float32, {dim(characters)}}, "output/bias", zeros());

  auto const x = as<of<float, "time", columns, width>>(gather(embedding, seen));
  auto const outputs = memory(x, lengths).outputs;
  auto const scores = matmul(reshape(value(outputs), {-1, units}), w) + b;
  auto const each = softmax_cross_entropy(scores, reshape(value(next), {-1}));
  auto const counts = cast(less(constant(g, tensor(std::int32_t{0})), reshape(value(next), {-1})), dtype::float32);
  value const nats = sum(each * counts, extents{0});
  value const loss = nats / sum(counts, extents{0});
  auto const train = adam{.rate = 0.003}.apply(clip_by_global_norm(variable_gradients(loss), 1));

  auto const last = placeholder<std::int32_t, 1>(g, "last");
  auto const h = placeholder<float, 1, units>(g, "h"), c = placeholder<float, 1, units>(g, "c");
  auto const one = as<of<float, 1, width>>(gather(embedding, last));
  auto const [next_h, next_c] = memory.step(one, std::tuple{h, c});
  return {seen, next, lengths, loss, nats, train, last, h, c, softmax(matmul(value(next_h), w) + b), next_h, next_c};
}

/// Returns the bits per character of passages that the model was not trained on.
double bits_of(rill::session& s, model const& m, passages const& held_out) {
  auto step = s.prepare(rill::inputs(m.seen, m.next, m.lengths), rill::outputs(m.nats));
  double nats = 0;
  for (auto const& b : rill::bucket_by_length(held_out.lengths, bounds, columns)) {
    auto const padded = make_batch(held_out, b, columns);
    nats += double{step(padded.seen, padded.next, padded.lengths).template item<float>()};
  }
  return nats / static_cast<double>(held_out.characters) / std::log(2.0);
}

std::string sample(rill::session& s, model const& m, vocabulary const& v, options const& o) {
  auto step = s.prepare(rill::inputs(m.last, m.h, m.c), rill::outputs(m.scores, m.next_h, m.next_c));
  rill::tensor h(rill::dtype::float32, {1, units}), c(rill::dtype::float32, {1, units});
  std::fill_n(h.mutable_data<float>(), units, 0.f);
  std::fill_n(c.mutable_data<float>(), units, 0.f);
  std::mt19937_64 random(static_cast<std::uint64_t>(o.seed));
  std::string text;
  std::int32_t last = 0;
  for (long i = 0; i < o.sample; ++i) {
    auto const [scores, next_h, next_c] = step(rill::vector<std::int32_t>({last}), h, c);
    h = next_h;
    c = next_c;
    auto const p = scores.template span<float>();
    auto left = static_cast<double>(random() >> 11) * 0x1p-53;
    last = 1;
    for (std::size_t k = 1; k < p.size(); ++k)
      if (last = static_cast<std::int32_t>(k); (left -= double{p[k]}) < 0) break;
    text += v.character(last);
    if (text.ends_with("\n\n")) last = 0;
    if (last != 0) continue;
    std::fill_n(h.mutable_data<float>(), units, 0.f);  // a new passage begins
    std::fill_n(c.mutable_data<float>(), units, 0.f);
  }
  return text;
}

void run(options const& o) {
  auto const begin = std::chrono::steady_clock::now();
  auto const text = read_text(o.text.empty() ? shakespeare_txt() : std::filesystem::path(o.text));
  vocabulary const v(text);
  auto const cut = text.size() / 10 * 9;
  passages const training(text.substr(0, cut), v), held_out(text.substr(cut), v);
  std::printf("%lld characters for training, %lld held out, %lld different ones\n",
              static_cast<long long>(training.characters), static_cast<long long>(held_out.characters),
              static_cast<long long>(v.size() - 1));
  rill::graph g(static_cast<std::uint64_t>(o.seed));
  auto const m = record(g, v.size());
  rill::session s{g, {.threads = static_cast<int>(o.threads)}};
  s.run(rill::initializer(g));

  auto step = s.prepare(rill::inputs(m.seen, m.next, m.lengths), rill::outputs(m.loss), m.train);
  long done = 0;
  double sum = 0;
  bool more = true;
  for (std::int64_t epoch = 0; more; ++epoch)
    for (auto const& b :
         rill::bucket_by_length(training.lengths, bounds, columns, static_cast<std::uint64_t>(o.seed), epoch)) {
      auto const padded = make_batch(training, b, columns);
      sum += double{step(padded.seen, padded.next, padded.lengths).template item<float>()};
      more = ++done < o.steps && std::chrono::steady_clock::now() - begin < std::chrono::minutes(o.minutes);
      if (done % 100 == 0 || !more) {
        auto const mean = sum / static_cast<double>((done - 1) % 100 + 1);
        std::printf("step %5ld: perplexity %6.2f, %.3f bits per character\n", done, std::exp(mean),
                    mean / std::log(2.0));
        std::fflush(stdout);
        sum = 0;
      }
      if (!more) break;
    }
  auto const bits = bits_of(s, m, held_out);
  std::printf("Held-out text: perplexity %.2f, %.3f bits per character\n", std::exp2(bits), bits);
  if (o.sample > 0) std::printf("\nSample:\n\n%s\n", sample(s, m, v, o).c_str());
}

}  // namespace shakespeare

int main(int count, char** words) {
  try {
    auto const o = shakespeare::parse(count, words);
    if (o.help) std::fputs(shakespeare::help.data(), stdout);
    else shakespeare::run(o);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "shakespeare: %s\n", e.what());
    return 1;
  }
}
