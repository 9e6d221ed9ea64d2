// Fine-tunes a network that PyTorch has trained on the digits 0 to 4 (pretrained.py) so that it knows all ten: its
// hidden layer is read from a safetensors file, a new last layer is trained alone, and then both together, slowly.
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include "../digits/data.hpp"
#include "arguments.hpp"

namespace {

/// Returns a matrix with rows and columns exchanged: PyTorch's linear layers have weights [out, in], rill's [in, out].
rill::tensor turned(rill::tensor const& from) {
  auto const rows = from.shape()[0], columns = from.shape()[1];
  rill::tensor to(rill::dtype::float32, {columns, rows});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k) to.at<float>(k, i) = from.at<float>(i, k);
  return to;
}

void run(long steps) {
  auto const data = digits::read_csv(digits::digits_csv());
  rill::graph g(1);
  auto image = rill::placeholder<float, "batch", 8, 8, 1>(g, "image");
  auto label = rill::placeholder<std::int32_t, "batch">(g, "label");
  rill::dense_layer<32> const hidden(g, 64, "hidden");
  rill::dense_layer<10> const out(g, 32, "out");
  auto logits = out(rill::relu(hidden(rill::flatten(image))));
  auto loss = rill::mean(rill::softmax_cross_entropy(logits, label));
  auto accuracy = rill::mean(rill::cast<float>(rill::argmax<1>(logits) == label));
  auto train_last = rill::adam{.rate = 5e-3f}.minimize(loss, out.variables());
  auto train_both = rill::adam{.rate = 1e-3f}.minimize(loss);

  rill::session s{g};
  s.run(rill::initializer(g));
  rill::safetensors_file const file("examples/data/digits_0_to_4.safetensors");
  for (auto const& e : file.entries())
    std::printf("%s: %s\n", e.name.c_str(), rill::type(e.element, e.shape).text().c_str());
  s.set(hidden.weights(), turned(file.read("hidden.weight")));
  s.set(hidden.bias(), file.read("hidden.bias"));

  auto const right = [&] {
    auto const& [images, labels] = data.test;
    return float(s.run({{image, images}, {label, labels}}, accuracy));
  };
  auto const epoch = [&](auto& step, char const* what) {
    long done = 0;
    for (auto const& [images, labels] : rill::batches(data.training, 32, rill::epochs(1000), {.seed = 1})) {
      step(images, labels);
      if (++done == steps) break;
    }
    float const share = right();
    std::printf("%s: accuracy %.4f\n", what, double{share});
    return share;
  };
  std::printf("before: accuracy %.4f\n", double{right()});
  auto last = s.prepare(rill::inputs(image, label), rill::outputs(loss), train_last);
  auto both = s.prepare(rill::inputs(image, label), rill::outputs(loss), train_both);
  float const first = epoch(last, "the last layer trained");
  float const second = epoch(both, "both layers trained");
  models::expect(first > (steps < 200 ? 0.6f : 0.85f), "the hidden layer does not help to tell digits apart");
  models::expect(second > (steps < 200 ? 0.7f : 0.93f), "too few digits are right");
}

}  // namespace

int main(int count, char** words) { return models::main_of(count, words, 450, run); }
