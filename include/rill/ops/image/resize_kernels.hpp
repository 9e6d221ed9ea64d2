// Bilinear resizing of images and its derivative, on raw pointers.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "rill/base/parallel.hpp"

namespace rill::kernels {

/// Where along an axis a pixel of the result is taken from: the pixel `lower`, and `weight` of the way to `upper`.
struct between {
  std::int64_t lower = 0, upper = 0;
  double weight = 0;
};

/// The pixels of the result, [first, last), that are taken from a pixel.
struct reach {
  std::int64_t first = 0, last = 0;
};

struct resizing {
  std::int64_t count, height, width, channels, to_height, to_width;
  between const *rows, *columns;                              ///< of the result
  reach const *from_rows = nullptr, *from_columns = nullptr;  ///< of the image, for the gradient
};

/// Sums of narrow floats are kept as float.
template <class T> using resize_sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T> void resize_linear(resizing const& r, T const* x, T* y, parallel const& threads) {
  using A = resize_sum<T>;
  threads(static_cast<std::size_t>(r.count * r.to_height), [&](std::size_t line) {
    auto const image = static_cast<std::int64_t>(line) / r.to_height;
    auto const& row = r.rows[static_cast<std::int64_t>(line) % r.to_height];
    auto const* const top = x + (image * r.height + row.lower) * r.width * r.channels;
    auto const* const bottom = x + (image * r.height + row.upper) * r.width * r.channels;
    auto* to = y + static_cast<std::int64_t>(line) * r.to_width * r.channels;
    // A pixel of weight 0 is not read: it may be infinite.
    auto const mixed = [](T a, T b, double weight) {
      return weight == 0 ? A(a) : A(a) + (A(b) - A(a)) * static_cast<A>(weight);
    };
    for (std::int64_t j = 0; j < r.to_width; ++j) {
      auto const& column = r.columns[j];
      auto const left = column.lower * r.channels, right = column.upper * r.channels;
      for (std::int64_t c = 0; c < r.channels; ++c) {
        auto const above = mixed(top[left + c], top[right + c], column.weight);
        auto const below = row.weight == 0 ? above : mixed(bottom[left + c], bottom[right + c], column.weight);
        *to++ = T(row.weight == 0 ? above : above + (below - above) * static_cast<A>(row.weight));
      }
    }
  });
}

/// Returns the weight of pixel `at` in a pixel of the result.
inline double share_of(between const& b, std::int64_t at) {
  return (b.lower == at ? 1 - b.weight : 0) + (b.upper == at ? b.weight : 0);
}

/// Each pixel of dx sums over the pixels of dy that it contributed to, always in the same order.
template <class T> void resize_gradient(resizing const& r, T const* dy, T* dx, parallel const& threads) {
  using A = resize_sum<T>;
  threads(static_cast<std::size_t>(r.count * r.height), [&](std::size_t line) {
    auto const image = static_cast<std::int64_t>(line) / r.height, i = static_cast<std::int64_t>(line) % r.height;
    auto* to = dx + static_cast<std::int64_t>(line) * r.width * r.channels;
    for (std::int64_t j = 0; j < r.width; ++j)
      for (std::int64_t c = 0; c < r.channels; ++c) {
        A sum = 0;
        for (auto p = r.from_rows[i].first; p < r.from_rows[i].last; ++p) {
          auto const* const from = dy + (image * r.to_height + p) * r.to_width * r.channels + c;
          A along = 0;
          for (auto q = r.from_columns[j].first; q < r.from_columns[j].last; ++q)
            along += A(from[q * r.channels]) * static_cast<A>(share_of(r.columns[q], j));
          sum += along * static_cast<A>(share_of(r.rows[p], i));
        }
        *to++ = T(sum);
      }
  });
}

}  // namespace rill::kernels
