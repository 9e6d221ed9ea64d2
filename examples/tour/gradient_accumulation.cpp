// Adds up the gradients of ten batches of 100 digits for the update of one batch of 1000, in a tenth of the memory.
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include <cmath>
#include <iostream>
#include <limits>

// Returns the largest difference of two tensors, in units in the last place of the first one's largest element.
double last_places(rill::tensor const& a, rill::tensor const& b) {
  double largest = 0, apart = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    double const x = a.data<float>()[i], y = b.data<float>()[i];
    largest = std::max(largest, std::abs(x));
    apart = std::max(apart, std::abs(x - y));
  }
  return apart / (largest * std::numeric_limits<float>::epsilon());
}

int main() {
  auto const [pixels, digit] = rill::read_csv<rill::of<float, 64>, rill::of<std::int32_t>>("examples/data/digits.csv");

  rill::graph g(1);
  auto images = rill::placeholder<float, "batch", 64>(g, "images");
  auto labels = rill::placeholder<std::int32_t, "batch">(g, "labels");
  auto step = rill::placeholder<std::int64_t>(g, "step");
  auto w1 = rill::variable<float, 64, 32>(g, "w1", rill::glorot());
  auto w2 = rill::variable<float, 32, 10>(g, "w2", rill::glorot());
  auto scores = rill::matmul(rill::tanh(rill::matmul(images * (1 / 16.f), w1)), w2);
  auto loss = rill::mean(rill::softmax_cross_entropy(scores, labels));
  auto [d1, d2] = rill::gradients(loss, w1, w2);

  rill::accumulator<rill::of<float, 64, 32>> sum1(g, "w1/gradients");
  rill::accumulator<rill::of<float, 32, 10>> sum2(g, "w2/gradients");
  auto add = rill::group(g, {sum1.apply(d1, step), sum2.apply(d2, step)});
  auto mean1 = sum1.average(10);  // waits for ten gradients of this step
  auto mean2 = sum2.average(10);
  auto update = rill::group(g, {rill::assign_sub(w1, mean1 * 0.5f), rill::assign_sub(w2, mean2 * 0.5f)});

  rill::session s{g};
  s.run(rill::initializer(g));
  auto const batch = [&](std::int64_t first, std::int64_t last) {
    return std::vector<rill::feed>{{images, pixels.rows(first, last)}, {labels, digit.rows(first, last)}};
  };
  double apart = 0;
  float before = 0, after = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    auto const [l, whole1, whole2] = s.run(batch(0, 1000), loss, d1, d2);  // the gradients of all thousand at once
    for (std::int64_t k = 0; k < 1000; k += 100) {
      auto feeds = batch(k, k + 100);
      feeds.emplace_back(step, rill::tensor(i));
      s.run(feeds, add);
    }
    auto const [m1, m2] = s.run(mean1, mean2, update);
    apart = std::max({apart, last_places(whole1, m1), last_places(whole2, m2)});
    (i == 0 ? before : after) = l;
  }
  std::cout << "fifty updates: the loss went from " << before << " to " << after
            << "; gradients of ten batches and of one differ by at most " << apart << " units in the last place\n";
  return apart < 16 && after < before / 4 ? 0 : 1;
}
