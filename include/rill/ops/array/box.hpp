// Boxes of elements copied between arrays: what concat, slice, pad and gather do.
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "rill/base/parallel.hpp"
#include "rill/tensor/elements.hpp"
#include "rill/type/dtype.hpp"
#include "rill/type/shape.hpp"
#include "rill/type/type.hpp"

namespace rill::ops {

/// A box within an array.
struct box {
  rill::shape array;  ///< the extents of the whole array
  extents begin;      ///< where in it the box starts
};

/// Returns an offset of 0 along each axis.
inline extents zeros(std::size_t rank) {
  extents e;
  e.count = static_cast<std::uint8_t>(rank);
  return e;
}

/// Returns where each part lies in the whole that the parts form when joined along an axis.
inline std::vector<box> boxes_along(shape const& whole, std::size_t axis, std::span<type const> parts) {
  std::vector<box> all;
  auto begin = zeros(whole.rank());
  for (auto const& part : parts) {
    all.push_back({whole, begin});
    begin[axis] += part[axis].extent;
  }
  return all;
}

/// Copies a box of the given extents from one array into another, line by line. Lines grow over all axes along which
/// the box is as wide as both arrays.
class box_copy {
 public:
  box_copy(dtype d, shape const& size, box const& to, box const& from) : element_(d) {
    auto const rank = size.rank();
    std::int64_t to_apart = 1, from_apart = 1;
    bool whole = true;
    for (std::size_t i = rank; i-- > 0;) {
      to_start_ += to.begin[i] * to_apart;
      from_start_ += from.begin[i] * from_apart;
      if (whole) line_ *= size[i];
      else {
        extents_[lines_rank_] = size[i];
        to_apart_[lines_rank_] = to_apart;
        from_apart_[lines_rank_++] = from_apart;
        lines_ *= size[i];
      }
      whole = whole && size[i] == to.array[i] && size[i] == from.array[i];
      to_apart *= to.array[i];
      from_apart *= from.array[i];
    }
    if (elements(size) == 0) lines_ = 0;
  }

  void operator()(void* to, void const* from, parallel const& threads) const {
    constexpr std::int64_t chunk = 65536;  // enough bytes for one thread
    auto const size = static_cast<std::int64_t>(size_of(element_));
    auto const each = std::max<std::int64_t>(1, chunk / std::max<std::int64_t>(1, line_ * size));
    auto const copy = [&](std::size_t c) {
      auto const first = static_cast<std::int64_t>(c) * each;
      for (auto l = first; l < std::min(first + each, lines_); ++l)
        line(static_cast<std::byte*>(to), static_cast<std::byte const*>(from), l, size);
    };
    auto const chunks = static_cast<std::size_t>((lines_ + each - 1) / each);
    if (element_ == dtype::string) {  // copying a string may throw; a thread's chunk must not
      for (std::size_t c = 0; c < chunks; ++c) copy(c);
    } else threads(chunks, copy);
  }

 private:
  void line(std::byte* to, std::byte const* from, std::int64_t number, std::int64_t size) const {
    auto t = to_start_, f = from_start_;
    for (std::size_t i = 0; i < lines_rank_; ++i) {
      auto const at = number % extents_[i];
      number /= extents_[i];
      t += at * to_apart_[i];
      f += at * from_apart_[i];
    }
    copy_elements(element_, to + t * size, from + f * size, static_cast<std::size_t>(line_));
  }

  dtype element_;
  std::int64_t line_ = 1, lines_ = 1, to_start_ = 0, from_start_ = 0;
  std::size_t lines_rank_ = 0;
  std::array<std::int64_t, max_rank> extents_{}, to_apart_{}, from_apart_{};  // of the axes over the lines, inner first
};

}  // namespace rill::ops
