// Copies the part of an array that subscripts say, and puts such a part into zeros.
#pragma once

#if RILL_DEFINITIONS
#include "rill/tensor/elements.hpp"

namespace rill::ops {

/// Copies between a dense array and the elements of another one that lie at regular distances. A run is the innermost
/// axis with a distance; its steps are lines of elements that lie together in both arrays.
class strided_part {
 public:
  strided_part(type const& x, subscripts const& at) : element_(x.element) {
    std::int64_t apart = 1;
    bool together = true;
    for (auto i = static_cast<std::size_t>(x.rank); i-- > 0;) {
      auto const n = x[i].extent;
      auto const p = at.along(i, n);
      start_ += p.first * apart;
      if (together && (p.step == 1 || p.count == 1)) line_ *= p.count;
      else add(p.count, p.count > 1 ? p.step * apart : 0);
      together = together && p.count == n && p.step == 1;
      apart *= n;
      all_ *= p.count;
    }
    if (all_ == 0) runs_ = 0;
  }
  /// Copies the part to a dense array.
  void take(void* to, void const* from, parallel const& threads) const { move<false>(to, from, threads); }
  /// Copies a dense array to the part.
  void put(void* to, void const* from, parallel const& threads) const { move<true>(to, from, threads); }

 private:
  void add(std::int64_t count, std::int64_t apart) {
    if (!has_run_) run_ = count, run_apart_ = apart, has_run_ = true;
    else extents_[rank_] = count, apart_[rank_++] = apart, runs_ *= count;
  }
  template <bool Put> void move(void* to, void const* from, parallel const& threads) const {
    auto const each =
        std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, run_ * line_));  // enough runs for one thread
    auto const chunk = [&](std::size_t c) {
      auto const first = static_cast<std::int64_t>(c) * each;
      visit(element_, [&]<class T>() {
        for (auto r = first; r < std::min(runs_, first + each); ++r)
          move_run<Put>(static_cast<T*>(to), static_cast<T const*>(from), r);
      });
    };
    auto const chunks = static_cast<std::size_t>((runs_ + each - 1) / each);
    if (element_ != dtype::string) return threads(chunks, chunk);
    for (std::size_t c = 0; c < chunks; ++c) chunk(c);  // copying a string may throw; a thread's chunk must not
  }
  template <bool Put, class T> void move_run(T* to, T const* from, std::int64_t run) const {
    auto part = start_, dense = run * run_ * line_;
    for (std::size_t i = 0; i < rank_; run /= extents_[i++]) part += run % extents_[i] * apart_[i];
    if (line_ == 1) {
      for (std::int64_t k = 0; k < run_; ++k)
        if constexpr (Put) to[part + k * run_apart_] = from[dense + k];
        else to[dense + k] = from[part + k * run_apart_];
      return;
    }
    for (std::int64_t k = 0; k < run_; ++k, dense += line_) {
      auto const at = part + k * run_apart_;
      std::copy_n(from + (Put ? dense : at), line_, to + (Put ? at : dense));
    }
  }

  dtype element_;
  bool has_run_ = false;
  std::int64_t start_ = 0, all_ = 1, line_ = 1, run_ = 1, run_apart_ = 0, runs_ = 1;
  std::size_t rank_ = 0;
  std::array<std::int64_t, max_rank> extents_{}, apart_{};  // of the axes over the runs, inner first
};

inline kernel subscript_op::cpu(kernel_request const& r) {
  strided_part const part(r.inputs[0], decode<subscripts>(r.at.attributes));
  return kernel([part](kernel_call const& call) { part.take(call.out(0), call.in(0), call.threads); });
}

inline kernel subscript_gradient_op::cpu(kernel_request const& r) {
  auto const& y = r.outputs[0];
  strided_part const part(y, decode<subscripts>(r.at.attributes));
  return kernel(
      [part, element = y.element, n = static_cast<std::size_t>(elements(y.shape()))](kernel_call const& call) {
        clear_elements(element, call.out(0), n);
        part.put(call.out(0), call.in(0), call.threads);
      });
}

}  // namespace rill::ops
#endif
