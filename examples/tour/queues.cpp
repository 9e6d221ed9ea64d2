// A queue, a thread that fills it with digits from a file, and a network that learns from it.
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include <iostream>

int main() {
  rill::graph g(1);
  rill::session s{g};
  auto w1 = rill::variable<float, 64, 64>(g, "w1", rill::glorot());
  auto w2 = rill::variable<float, 64, 10>(g, "w2", rill::glorot());
  auto b1 = rill::variable<float, 64>(g, "b1", rill::zeros());

  auto q = rill::shuffle_queue<rill::of<float, 64>, rill::of<std::int32_t>>(
      g, {.capacity = 2000, .min_after_dequeue = 500, .seed = 1}, "examples");
  auto reader = rill::csv_reader(g, {"examples/data/digits.csv"}, rill::epochs(20));
  auto [pixels, digit] = rill::decode_csv<rill::of<float, 64>, rill::of<std::int32_t>>(reader.next());

  s.run(rill::initializer(g));                           // initialises the weights and the reader's position
  rill::queue_runner fill{s, q.enqueue(pixels, digit)};  // a client thread; its errors and the end reach the loop
  auto [images, labels] = rill::dequeue_many<32>(q);     // expr<of<float, 32, 64>>, expr<of<std::int32_t, 32>>

  auto scores = rill::matmul(rill::relu(rill::matmul(images * (1 / 16.f), w1) + b1), w2);
  auto loss = rill::mean(rill::softmax_cross_entropy(scores, labels));
  auto right = rill::mean(rill::cast<float>(rill::argmax<1>(scores) == labels));
  auto train = rill::gradient_descent{0.3f}.minimize(loss);
  float share = 0;
  int steps = 0;
  try {
    for (;; ++steps) share = 0.98f * share + 0.02f * float(s.run(right, train));
  } catch (rill::error const& e) {
    if (e.code() != rill::code::out_of_range) throw;  // the end; an error of the thread is rethrown
  }
  fill.join();
  std::cout << steps << " batches; accuracy of the last ones " << share * 100 << "%\n";
  return steps == 1797 * 20 / 32 && share > 0.95f ? 0 : 1;
}
