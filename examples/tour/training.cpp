// Trains on real digits. Run it in rill's root folder, which has examples/data.
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include <iostream>

int main() {
  auto const [pixels, digit] = rill::read_csv<rill::of<float, 64>, rill::of<std::int32_t>>("examples/data/digits.csv");

  rill::graph g;
  auto image = rill::placeholder<float, "batch", 64>(g, "image");
  auto label = rill::placeholder<std::int32_t, "batch">(g, "label");

  auto hidden = rill::relu(rill::dense<128>(image, "hidden"));  // makes hidden/weights and hidden/bias
  auto logits = rill::dense<10>(hidden, "logits");
  auto loss = rill::mean(rill::softmax_cross_entropy(logits, label));
  auto accuracy = rill::mean(rill::cast<float>(rill::argmax<1>(logits) == label));
  auto train = rill::adam{.rate = 1e-3f}.minimize(loss);

  rill::session s{g};
  s.run(rill::initializer(g));
  auto step = s.prepare(rill::inputs(image, label), rill::outputs(loss), train);  // compiled once, then a plain call
  float l = 0;
  for (auto const& [images, labels] : rill::batches(std::tuple{pixels, digit}, 32, rill::epochs(20)))
    l = step(images, labels);

  float const right = s.run({{image, pixels}, {label, digit}}, accuracy);
  std::cout << "loss " << l << ", accuracy " << right << '\n';
  return right > 0.95f ? 0 : 1;
}
