// The order in which blocks, and the threads of each, run.
#pragma once
#include <cstddef>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace rill::emulated {

/// The numbers below a count in an order that comes from a seed: 0 ascending, 1 descending, else random.
class order {
 public:
  explicit order(unsigned long long seed) : seed_(seed), random_(seed) {}

  /// Begins a new order, each time another one if it is random.
  void begin(std::size_t count) {
    count_ = count;
    if (seed_ < 2) return;
    shuffled_.resize(count);
    std::iota(shuffled_.begin(), shuffled_.end(), std::size_t{0});
    for (std::size_t i = count; i > 1; --i) std::swap(shuffled_[i - 1], shuffled_[random_() % i]);
  }
  std::size_t operator[](std::size_t i) const { return seed_ == 0 ? i : seed_ == 1 ? count_ - 1 - i : shuffled_[i]; }

 private:
  unsigned long long seed_;
  std::mt19937_64 random_;
  std::size_t count_ = 0;
  std::vector<std::size_t> shuffled_;
};

}  // namespace rill::emulated
