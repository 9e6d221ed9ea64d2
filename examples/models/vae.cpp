// A variational autoencoder of handwritten digits (D. P. Kingma and M. Welling, Auto-Encoding Variational Bayes, ICLR
// 2014): it learns to draw digits from 8 random numbers.
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include "../digits/data.hpp"
#include "../digits/report.hpp"
#include "arguments.hpp"

namespace {

constexpr std::int64_t hidden = 8;  // numbers that stand for a digit

void run(long steps) {
  auto const data = digits::read_csv(digits::digits_csv());
  rill::graph g(1);
  auto image = rill::placeholder<float, "batch", 8, 8, 1>(g, "image");
  auto x = rill::flatten(image);

  auto seen = rill::relu(rill::dense<128>(x, "encoder", rill::he()));
  auto mean = rill::dense<hidden>(seen, "mean");
  auto log_variance = rill::dense<hidden>(seen, "log_variance");
  auto z = mean + rill::exp(log_variance * 0.5f) * rill::normal_like(mean);  // derivatives pass by the random numbers

  rill::dense_layer<128> decoder(g, hidden, "decoder", rill::he());
  rill::dense_layer<64> pixels(g, 128, "pixels");
  auto drawn = [&](auto from) { return pixels(rill::relu(decoder(from))); };

  // The negative of the evidence lower bound: what drawing costs, and how far z is from a normal distribution.
  auto logits = drawn(z);
  auto drawing = rill::sum<1>(rill::sigmoid_cross_entropy(logits, x));
  auto distance = rill::sum<1>(rill::exp(log_variance) + rill::square(mean) - 1.f - log_variance) * 0.5f;
  auto loss = rill::mean(drawing + distance);
  auto train = rill::adam{.rate = 2e-3f}.minimize(loss);

  auto imagined = rill::sigmoid(drawn(rill::normal<float, 6, hidden>(g)));

  rill::session s{g};
  s.run(rill::initializer(g));
  auto const& test = std::get<0>(data.test);
  float const before = s.run({{image, test}}, loss);
  auto step = s.prepare(rill::inputs(image), rill::outputs(loss), train);
  long done = 0;
  for (auto const& [images] :
       rill::batches(std::tuple{std::get<0>(data.training)}, 64, rill::epochs(10000), {.seed = 1})) {
    float const l = step(images);
    if (++done % 200 == 0 || done == steps) std::printf("step %4ld: loss %.3f\n", done, double{l});
    if (done == steps) break;
  }
  float const after = s.run({{image, test}}, loss);
  std::printf("digits that it was not trained on: loss %.3f, before training %.3f\n\n", double{after}, double{before});

  rill::tensor const all = s.run(imagined);
  for (std::int64_t line = 0; line < 8; ++line) {
    for (std::int64_t i = 0; i < 6; ++i)
      std::printf("  %s", digits::drawn_line(all.data<float>() + i * 64, 8, line).c_str());
    std::puts("");
  }
  models::expect(after < before * (steps < 400 ? 0.8f : 0.65f), "its drawings are not like digits");
}

}  // namespace

int main(int count, char** words) { return models::main_of(count, words, 2000, run); }
