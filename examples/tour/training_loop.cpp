// Runs an epoch of training as one step: the graph has a loop over the batches, with the updates in its body.
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include <iostream>
#include <numeric>
#include <random>

int main() {
  auto const [pixels, digit] = rill::read_csv<rill::of<float, 64>, rill::of<std::int32_t>>("examples/data/digits.csv");
  constexpr std::int64_t batches = 44, size = 32;  // of 1,797 digits; the others are for the test

  rill::graph g(1);
  auto images = rill::placeholder<float, "digits", 64>(g, "images");
  auto labels = rill::placeholder<std::int32_t, "digits">(g, "labels");
  auto order = rill::placeholder<std::int32_t, batches, size>(g, "order");
  auto w1 = rill::variable<float, 64, 64>(g, "w1", rill::glorot());
  auto w2 = rill::variable<float, 64, 10>(g, "w2", rill::glorot());
  auto b1 = rill::variable<float, 64>(g, "b1", rill::zeros());
  auto scores = [&](auto x) { return rill::matmul(rill::relu(rill::matmul(x * (1 / 16.f), w1) + b1), w2); };

  auto losses = rill::map(
      [&](auto which) {  // the indices of a batch's digits
        auto loss =
            rill::mean(rill::softmax_cross_entropy(scores(rill::gather(images, which)), rill::gather(labels, which)));
        rill::gradient_descent{0.5f}.minimize(loss);  // updates in each iteration, whatever is fetched
        return loss;
      },
      order);
  auto right = rill::mean(rill::cast<float>(rill::argmax<1>(scores(images)) == labels));

  rill::session s{g};
  s.run(rill::initializer(g));
  auto epoch = s.prepare(rill::inputs(images, labels, order), rill::outputs(losses));
  std::mt19937 random(1);
  rill::tensor shuffled(rill::dtype::int32, {batches, size});
  auto* const numbers = shuffled.mutable_data<std::int32_t>();
  std::iota(numbers, numbers + batches * size, 0);
  for (int i = 0; i < 10; ++i) {
    std::shuffle(numbers, numbers + batches * size, random);
    rill::tensor const all = epoch(pixels, digit, shuffled);
    std::cout << "epoch " << i + 1 << ": loss " << all.at<float>(batches - 1) << '\n';
  }
  auto const n = pixels.shape()[0];
  float const share = s.run({{images, pixels.rows(batches * size, n)}, {labels, digit.rows(batches * size, n)}}, right);
  std::cout << "accuracy on digits that it was not trained on: " << share * 100 << "%\n";
  return share > 0.9f ? 0 : 1;
}
