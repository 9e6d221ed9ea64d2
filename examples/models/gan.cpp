// Two networks that play against each other (I. Goodfellow et al., Generative Adversarial Nets, NIPS 2014): one draws
// digits from random numbers, the other says which are real. Each has its optimizer and its variables.
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include "../digits/data.hpp"
#include "../digits/report.hpp"
#include "arguments.hpp"

namespace {

constexpr std::int64_t batch = 64, noise = 16;

void run(long steps) {
  auto const data = digits::read_csv(digits::digits_csv());
  rill::graph g(1);
  auto image = rill::placeholder<float, batch, 8, 8, 1>(g, "image");

  auto dreamt = rill::relu(rill::dense<64>(rill::normal<float, batch, noise>(g), "generator/hidden", rill::he()));
  auto drawn = rill::sigmoid(rill::dense<64>(dreamt, "generator/pixels"));

  rill::dense_layer<64> look(g, 64, "discriminator/look", rill::he());
  rill::dense_layer<1> judge(g, 64, "discriminator/judge");
  auto verdict = [&](auto x) { return judge(rill::leaky_relu(look(x), 0.2)); };  // above 0: a real digit
  auto of_real = verdict(rill::flatten(image)), of_drawn = verdict(drawn);

  auto as_real = [](auto v) { return rill::mean(rill::softplus(-v)); };  // -log sigmoid(v)
  auto as_drawn = [](auto v) { return rill::mean(rill::softplus(v)); };
  auto judged = as_real(of_real) + as_drawn(of_drawn);  // the discriminator's loss
  auto fooled = as_real(of_drawn);                      // the generator's: its drawings should be taken for real
  rill::adam const slow{.rate = 1e-3f, .first_decay = 0.5};
  auto train_judge = slow.minimize(judged, rill::trainable_variables(g, "discriminator/"));
  auto train_artist = slow.minimize(fooled, rill::trainable_variables(g, "generator/"));

  auto likely = [](auto v) { return rill::mean(rill::cast<float>(v > 0.f)); };
  auto found = (likely(of_real) + 1.f - likely(of_drawn)) * 0.5f;  // the share of right verdicts

  rill::session s{g};
  s.run(rill::initializer(g));
  auto step = s.prepare(rill::inputs(image), rill::outputs(judged, fooled, found), train_judge, train_artist);
  long done = 0;
  double right = 0;
  for (auto const& [images] :
       rill::batches(std::tuple{std::get<0>(data.training)}, batch, rill::epochs(100000), {.seed = 1})) {
    if (images.shape()[0] != batch) continue;
    auto const [j, f, share] = step(images);
    right += double{share.template item<float>()};
    if (++done % 500 == 0 || done == steps) {
      std::printf("step %5ld: loss of the judge %.3f, of the artist %.3f, right verdicts %.2f\n", done,
                  double{j.template item<float>()}, double{f.template item<float>()},
                  right / double((done - 1) % 500 + 1));
      right = 0;
    }
    if (done == steps) break;
  }

  rill::tensor const all = s.run(drawn);
  std::puts("");
  for (std::int64_t line = 0; line < 8; ++line) {
    for (std::int64_t i = 0; i < 6; ++i)
      std::printf("  %s", digits::drawn_line(all.data<float>() + i * 64, 8, line).c_str());
    std::puts("");
  }
  // Digits have dark corners and ink in the middle; a generator that has learnt nothing draws the same everywhere.
  auto const at = [&](std::int64_t y, std::int64_t x) {
    double sum = 0;
    for (std::int64_t i = 0; i < batch; ++i) sum += double{all.at<float>(i, y * 8 + x)};
    return sum / batch;
  };
  auto const corners = (at(0, 0) + at(7, 0) + at(0, 7) + at(7, 7)) / 4, middle = (at(3, 3) + at(3, 4) + at(1, 3)) / 3;
  std::printf("\nink in the corners %.3f, in the middle %.3f\n", corners, middle);
  models::expect(middle > corners + 0.2, "its drawings have no ink where digits have it");
}

}  // namespace

int main(int count, char** words) { return models::main_of(count, words, 4000, run); }
