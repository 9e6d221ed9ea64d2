// Copies arrays with some axes reversed.
#pragma once

#if RILL_DEFINITIONS
#include "rill/tensor/elements.hpp"

namespace rill::ops {

/// Copies an array with some of its axes reversed, line by line: a line has the elements after the last reversed axis.
class reversed_copy {
 public:
  reversed_copy(dtype d, shape const& s, std::array<bool, max_rank> const& turned) : element_(d), rank_(s.rank()) {
    while (rank_ > 0 && !turned[rank_ - 1]) line_ *= s[--rank_];
    for (std::size_t i = rank_; i-- > 0; lines_ *= s[i]) {
      extents_[i] = s[i];
      apart_[i] = turned[i] ? -lines_ : lines_;
      if (turned[i]) start_ += (s[i] - 1) * lines_;
    }
    if (line_ == 0) lines_ = 0;
  }
  void operator()(void* to, void const* from, parallel const& threads) const {
    auto const size = line_ * static_cast<std::int64_t>(size_of(element_));
    auto const each =
        std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, size));  // enough lines for one thread
    auto const chunks = static_cast<std::size_t>((lines_ + each - 1) / each);
    auto const chunk = [&](std::size_t c) {
      auto const first = static_cast<std::int64_t>(c) * each;
      copy(static_cast<std::byte*>(to), static_cast<std::byte const*>(from), first, std::min(lines_, first + each));
    };
    if (element_ != dtype::string) return threads(chunks, chunk);
    for (std::size_t c = 0; c < chunks; ++c) chunk(c);  // copying a string may throw; a thread's chunk must not
  }

 private:
  void copy(std::byte* to, std::byte const* from, std::int64_t first, std::int64_t last) const {
    auto const size = line_ * static_cast<std::int64_t>(size_of(element_));
    std::array<std::int64_t, max_rank> index{};
    auto source = start_;
    for (auto i = rank_, rest = static_cast<std::size_t>(first); i-- > 0;) {
      index[i] = static_cast<std::int64_t>(rest) % extents_[i];
      rest /= static_cast<std::size_t>(extents_[i]);
      source += index[i] * apart_[i];
    }
    for (auto line = first; line < last; ++line) {
      copy_elements(element_, to + line * size, from + source * size, static_cast<std::size_t>(line_));
      for (auto i = rank_; i-- > 0;) {
        source += apart_[i];
        if (++index[i] < extents_[i]) break;
        source -= extents_[i] * apart_[i];
        index[i] = 0;
      }
    }
  }

  dtype element_;
  std::size_t rank_;  ///< axes before the line
  std::int64_t line_ = 1, lines_ = 1, start_ = 0;
  std::array<std::int64_t, max_rank> extents_{}, apart_{};
};

inline kernel reverse_op::cpu(kernel_request const& r) {
  auto const& x = r.inputs[0];
  reversed_copy const copy(x.element, x.shape(), turned(decode<attributes>(r.at.attributes), x.rank));
  return kernel([copy](kernel_call const& call) { copy(call.out(0), call.in(0), call.threads); });
}

}  // namespace rill::ops
#endif
