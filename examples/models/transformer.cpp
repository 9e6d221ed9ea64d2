// A transformer that learns to write like Shakespeare, character by character (A. Vaswani et al., Attention Is All You
// Need, NIPS 2017; layers are normalised before they are used, R. Xiong et al., ICML 2020).
#include <rill/rill.hpp>

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

#include "../device.hpp"
#include "arguments.hpp"

namespace {

constexpr std::int64_t batch = 16, length = 64, width = 96, heads = 4, blocks = 2;

/// A text as numbers of its characters.
struct text {
  std::string characters;  // by number
  std::vector<std::int32_t> numbers;

  explicit text(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot open '" + path + "'");
    std::string const all(std::istreambuf_iterator<char>(file), {});
    std::array<std::int32_t, 256> number;
    number.fill(-1);
    for (char c : all) {
      auto& n = number[static_cast<unsigned char>(c)];
      if (n < 0) n = static_cast<std::int32_t>(characters.size()), characters += c;
      numbers.push_back(n);
    }
  }
};

using sequence = rill::expr<rill::of<float, "batch", length, width>>;

/// A block: every position looks at those before it, and then a small network looks at each position.
sequence block(sequence x, std::string const& name) {
  auto& g = *x.graph;
  rill::layer_norm_layer const before(g, width, name + "/before"), between(g, width, name + "/between");
  rill::multi_head_attention_layer<heads> const look(g, width, name + "/look");
  x = x + look(before(x), {.causal = true});
  auto const hidden = rill::gelu_tanh(rill::dense<4 * width>(between(x), name + "/hidden"));
  return x + rill::dense<width>(hidden, name + "/out");
}

using letters_of_passages = rill::expr<rill::of<std::int32_t, "batch", length>>;

struct model {
  letters_of_passages seen, next;
  rill::expr<rill::of<float>> rate;
  rill::value loss, chances;
  rill::operation train;
};

/// Records a transformer for texts of `kinds` different characters.
model record(rill::graph& g, std::int64_t kinds) {
  auto seen = rill::placeholder<std::int32_t, "batch", length>(g, "seen");
  auto next = rill::placeholder<std::int32_t, "batch", length>(g, "next");
  auto letters =
      rill::variable(g, rill::type(rill::dtype::float32, {rill::dim(kinds), width}), "letters", rill::normal(0, 0.05));
  auto places = rill::variable<float, length, width>(g, "places", rill::normal(0, 0.05));

  auto x = rill::as<sequence::static_type>(rill::gather(letters, seen)) + places;
  for (int i = 0; i < blocks; ++i) x = block(x, "block" + std::to_string(i));
  rill::layer_norm_layer const last(g, width, "last");
  rill::value scores = rill::dense(last(x), kinds, "scores");
  rill::value loss = rill::mean(rill::softmax_cross_entropy(scores, next), rill::extents{});
  rill::value chances = rill::softmax(scores);

  auto rate = rill::placeholder<float>(g, "rate");
  auto gradients = rill::clip_by_global_norm(rill::variable_gradients(loss), 1);
  auto train = rill::adam{.rate = rate}.apply(gradients);

  return {seen, next, rate, loss, chances, train};
}

void run(long steps, std::string_view device) {
  text const plays("examples/data/shakespeare.txt");
  auto const kinds = static_cast<std::int64_t>(plays.characters.size());
  auto const trained = plays.numbers.size() / 10 * 9;  // the rest is for the test
  std::printf("%zu characters, %lld different ones\n", plays.numbers.size(), static_cast<long long>(kinds));

  rill::graph g(1);
  auto const m = example::on_device(g, device, [&] { return record(g, kinds); });

  rill::session s{g, example::with_device(device)};
  s.run(rill::initializer(g));
  std::mt19937 random(1);
  auto const passages = [&](std::size_t first, std::size_t last_start) {
    rill::tensor_of<rill::of<std::int32_t, batch, length>> in{rill::tensor(rill::dtype::int32, {batch, length})},
        out{rill::tensor(rill::dtype::int32, {batch, length})};
    std::uniform_int_distribution<std::size_t> start(first, last_start);
    for (std::int64_t i = 0; i < batch; ++i) {
      auto const at = start(random);
      for (std::int64_t k = 0; k < length; ++k) {
        in.at<std::int32_t>(i, k) = plays.numbers[at + static_cast<std::size_t>(k)];
        out.at<std::int32_t>(i, k) = plays.numbers[at + static_cast<std::size_t>(k) + 1];
      }
    }
    return std::pair(in, out);
  };

  auto step = s.prepare(rill::inputs(m.seen, m.next, m.rate), rill::outputs(m.loss), m.train);
  double sum = 0;
  for (long i = 1; i <= steps; ++i) {
    auto const [in, out] = passages(0, trained - length - 1);
    // Up for a tenth of the steps, then down to 0 along a cosine.
    double const done = double(i) / double(steps), warm = std::min(1.0, done * 10);
    auto const r = static_cast<float>(3e-3 * warm * 0.5 * (1 + std::cos(3.14159265 * done)));
    sum += double{step(in, out, r).item<float>()};
    if (i % 100 == 0 || i == steps) {
      std::printf("step %5ld: %.3f bits per character\n", i, sum / double((i - 1) % 100 + 1) / std::log(2.0));
      std::fflush(stdout);
      sum = 0;
    }
  }
  auto test = s.prepare(rill::inputs(m.seen, m.next), rill::outputs(m.loss));
  // A run of a few steps, as tests make it, shows that it works, and no more.
  int const tried = steps < 10 ? 2 : 20, letters = steps < 10 ? 20 : 300;
  double bits = 0;
  for (int i = 0; i < tried; ++i) {
    auto const [in, out] = passages(trained, plays.numbers.size() - length - 1);
    bits += double{test(in, out).item<float>()} / std::log(2.0) / tried;
  }
  std::printf("text that it was not trained on: %.3f bits per character\n\n", bits);

  // It writes: the last characters are fed, and the next one is drawn with the chances that it gives.
  auto write = s.prepare(rill::inputs(m.seen), rill::outputs(m.chances));
  rill::tensor_of<rill::of<std::int32_t, 1, length>> window{rill::tensor(rill::dtype::int32, {1, length})};
  std::copy_n(plays.numbers.begin(), length, window.mutable_data<std::int32_t>());
  auto* const w = window.mutable_data<std::int32_t>();
  std::uniform_real_distribution<double> chance;
  for (int i = 0; i < letters; ++i) {
    auto const p = write(window).to(rill::host);
    auto const* const of_last = p.data<float>() + (length - 1) * kinds;
    double left = chance(random);
    std::int32_t drawn = 0;
    while (drawn + 1 < kinds && (left -= double{of_last[drawn]}) > 0) ++drawn;
    std::putchar(plays.characters[static_cast<std::size_t>(drawn)]);
    std::rotate(w, w + 1, w + length);
    w[length - 1] = drawn;
  }
  std::puts("");
  models::expect(bits < (steps < 200 ? 4.5 : 2.9), "too many bits per character");
}

}  // namespace

int main(int count, char** words) { return models::main_of(count, words, 1500, run); }
