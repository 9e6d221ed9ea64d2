// A residual network with batch normalisation on handwritten digits (K. He et al., Deep Residual Learning, CVPR 2016).
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include "../device.hpp"
#include "../digits/data.hpp"
#include "arguments.hpp"

namespace {

/// Returns a convolution of 3 x 3 pixels without an activation, normalised over the batch.
template <std::int64_t Channels, class X, class T> auto normalised(X x, T training, std::string const& name) {
  rill::batch_norm_layer const norm(*x.graph, Channels, name + "/norm");
  return norm(rill::conv2d<Channels, 3>(x, name + "/conv", rill::he()), training);
}

/// Returns relu(x + f(x)) for f of two convolutions: what x lacks is learnt, and derivatives reach x unchanged.
template <std::int64_t Channels, class X, class T> auto block(X x, T training, std::string const& name) {
  auto const inner = rill::relu(normalised<Channels>(x, training, name + "/first"));
  return rill::relu(x + normalised<Channels>(inner, training, name + "/second"));
}

struct model {
  rill::expr<rill::of<float, "batch", 8, 8, 1>> image;
  rill::expr<rill::of<std::int32_t, "batch">> label;
  rill::expr<rill::of<bool>> training;
  rill::expr<rill::of<float>> loss, accuracy;
  rill::operation train;
};

model record(rill::graph& g) {
  auto image = rill::placeholder<float, "batch", 8, 8, 1>(g, "image");
  auto label = rill::placeholder<std::int32_t, "batch">(g, "label");
  auto training = rill::placeholder<bool>(g, "training");

  auto stem = rill::relu(normalised<16>(image, training, "stem"));
  auto first = block<16>(stem, training, "first");
  auto wider = rill::relu(normalised<32>(rill::max_pool(first), training, "wider"));
  auto second = block<32>(wider, training, "second");
  auto logits = rill::dense<10>(rill::mean<1, 2>(second), "logits");  // the mean of each channel over all pixels
  auto loss = rill::mean(rill::softmax_cross_entropy(logits, label));
  auto accuracy = rill::mean(rill::cast<float>(rill::argmax<1>(logits) == label));
  auto train = rill::adam{.rate = 2e-3f}.minimize(loss);  // and the moving averages, as `loss` computes them
  return {image, label, training, loss, accuracy, train};
}

void run(long steps, std::string_view device) {
  auto const data = digits::read_csv(digits::digits_csv());
  rill::graph g(1);
  auto const m = example::on_device(g, device, [&] { return record(g); });
  rill::session s{g, example::with_device(device)};
  s.run(rill::initializer(g));
  auto step = s.prepare(rill::inputs(m.image, m.label, m.training), rill::outputs(m.loss), m.train);
  long done = 0;
  double sum = 0;
  for (auto const& [images, labels] : rill::batches(data.training, 32, rill::epochs(1000), {.seed = 1})) {
    sum += float(step(images, labels, true));
    if (++done % 45 == 0 || done == steps) {
      std::printf("step %4ld: loss %.4f\n", done, sum / double((done - 1) % 45 + 1));
      sum = 0;
    }
    if (done == steps) break;
  }
  auto const& [images, labels] = data.test;
  float const right = s.run({{m.image, images}, {m.label, labels}, {m.training, rill::tensor(false)}}, m.accuracy);
  std::printf("accuracy on digits that it was not trained on: %.4f\n", double{right});
  models::expect(right > (steps < 200 ? 0.7f : 0.97f), "too few digits are right");
}

}  // namespace

int main(int count, char** words) { return models::main_of(count, words, 450, run); }
