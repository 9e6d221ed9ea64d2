// Two threads read digits from a file, decode and shuffle them, and a network learns from the batches.
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include <iostream>

int main() {
  rill::graph g(1);
  auto reader = rill::csv_reader(g, {"examples/data/digits.csv"}, rill::epochs(20));
  auto [pixels, digit] = rill::decode_csv<rill::of<float, 64>, rill::of<std::int32_t>>(reader.next());
  auto [images, labels] = rill::prefetch(
      rill::shuffle_batch<32>({.min_after_dequeue = 500, .seed = 1, .threads = 2}, pixels * (1 / 16.f), digit));

  auto scores = rill::dense<10>(rill::relu(rill::dense<64>(images, "hidden")), "scores");
  auto loss = rill::mean(rill::softmax_cross_entropy(scores, labels));
  auto right = rill::mean(rill::cast<float>(rill::argmax<1>(scores) == labels));
  auto train = rill::adam{.rate = 0.003f}.minimize(loss);

  rill::session s{g};
  s.run(rill::initializer(g));  // also the reader's position, which a checkpoint would contain
  rill::start_input(s);         // starts threads, which end with the session
  float share = 0;
  int steps = 0;
  try {
    for (;; ++steps) share = 0.98f * share + 0.02f * float(std::get<0>(s.run(right, loss, train)));
  } catch (rill::error const& e) {
    if (e.code() != rill::code::out_of_range) throw;  // the end of the last epoch
  }
  std::cout << steps << " batches; accuracy of the last ones " << share * 100 << "%\n";
  return steps == 1797 * 20 / 32 && share > 0.95f ? 0 : 1;
}
