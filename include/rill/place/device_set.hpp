// Sets of devices, by their numbers.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rill {

/// A set of some of `n` devices.
class device_set {
 public:
  /// The set of none of `n` devices, or of all.
  explicit device_set(std::size_t n, bool all = false) : words_((n + 63) / 64, all ? ~std::uint64_t{0} : 0) {
    if (all && n % 64 != 0) words_.back() = (std::uint64_t{1} << n % 64) - 1;
  }

  void insert(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << i % 64; }
  bool contains(std::size_t i) const { return (words_[i / 64] >> i % 64 & 1) != 0; }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](auto w) { return w == 0; });
  }
  std::size_t size() const {
    std::size_t n = 0;
    for (auto w : words_) n += static_cast<std::size_t>(std::popcount(w));
    return n;
  }
  /// Keeps what is in `other` as well.
  device_set& operator&=(device_set const& other) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] &= other.words_[k];
    return *this;
  }
  friend device_set operator&(device_set a, device_set const& b) { return a &= b; }
  friend bool operator==(device_set const&, device_set const&) = default;

  /// Calls `f` with each member, in ascending order.
  template <class F> void for_each(F const& f) const {
    for (std::size_t k = 0; k < words_.size(); ++k)
      for (auto w = words_[k]; w != 0; w &= w - 1)
        f(static_cast<std::uint32_t>(64 * k + static_cast<std::size_t>(std::countr_zero(w))));
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace rill
