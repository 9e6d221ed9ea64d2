// Pooling to a given height and width.
#pragma once
#include <array>
#include <string>

#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/slice.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/network/avg_pool.hpp"
#include "rill/ops/network/max_pool.hpp"

namespace rill {

namespace detail {

/// Returns images [n, height, width, channels] pooled to another height and width, by the largest or by the mean.
/// `name` is for errors.
value adaptive_pool(value x, std::int64_t height, std::int64_t width, bool largest, std::string_view name);

/// Returns the same as a typed handle.
template <std::int64_t Height, std::int64_t Width, typed X>
auto typed_adaptive_pool(X x, bool largest, std::string_view name) {
  constexpr type in = X::static_type;
  constexpr bool are_images = in.has_rank() && in.rank == 4 && in[1].known() && in[2].known();
  static_assert(are_images,
                "adaptive pooling: expected images [n, height, width, channels] of a known height and width");
  static_assert(Height > 0 && Width > 0, "adaptive pooling: the height and width of the result must be above 0");
  if constexpr (are_images) {
    constexpr auto wide = wide_element(in.element);  // of means of means
    provide_kernels<ops::cast_op, dtypes{in.element} | wide>();
    provide_kernels<ops::avg_pool_op, dtypes{in.element}>(), provide_kernels<ops::mean_op, dtypes{wide}>();
    provide_kernels<ops::max_pool_op, dtypes{in.element}>(), provide_kernels<ops::max_op, dtypes{wide}>();
    constexpr type out{in.element, {in[0], dim(Height), dim(Width), in[3]}};
    return expr<out>{adaptive_pool(x, Height, Width, largest, name)};
  } else return refused{};
}

}  // namespace detail

/// Returns images [n, height, width, channels] as [n, Height, Width, channels]: pixel i of the result is the mean of
/// the pixels from floor(i height / Height) up to ceil((i + 1) height / Height), as in PyTorch, and so for the width.
/// The height and width of x must be known. 1 x 1 is global_avg_pool(x, keep).
template <std::int64_t Height, std::int64_t Width, typed X> auto adaptive_avg_pool(X x) {
  return detail::typed_adaptive_pool<Height, Width>(x, false, "adaptive_avg_pool");
}
/// Returns the same where the numbers are known only when the program runs. Throws error(invalid_argument) if the
/// height or the width of x is not known or is 0.
inline value adaptive_avg_pool(value x, std::int64_t height, std::int64_t width) {
  return detail::adaptive_pool(x, height, width, false, "adaptive_avg_pool");
}
/// Returns the same with the largest of these pixels: `adaptive_max_pool<7, 7>(x)`.
template <std::int64_t Height, std::int64_t Width, typed X> auto adaptive_max_pool(X x) {
  return detail::typed_adaptive_pool<Height, Width>(x, true, "adaptive_max_pool");
}
inline value adaptive_max_pool(value x, std::int64_t height, std::int64_t width) {
  return detail::adaptive_pool(x, height, width, true, "adaptive_max_pool");
}

#if RILL_RUNTIME
namespace detail {

/// Pools one axis to `count` pixels: a slice for each, since their windows differ in size.
inline value pool_axis(value x, std::int64_t axis, std::int64_t count, bool largest) {
  auto const extent = x.type()[static_cast<std::size_t>(axis)].extent;
  if (extent == count) return x;
  std::vector<value> pixels;
  for (std::int64_t i = 0; i < count; ++i) {
    auto const begin = i * extent / count, end = ((i + 1) * extent + count - 1) / count;
    extents first{0, 0, 0, 0}, size{-1, -1, -1, -1};
    first[static_cast<std::size_t>(axis)] = begin, size[static_cast<std::size_t>(axis)] = end - begin;
    auto const window = slice(x, first, size);
    pixels.push_back(largest ? max(window, extents{axis}, true) : mean(window, extents{axis}, true));
  }
  return concat(pixels, axis);
}

RILL_INLINE value adaptive_pool(value x, std::int64_t height, std::int64_t width, bool largest,
                                std::string_view name) try {
  type const t = x.type();
  if (!(largest ? dtypes::reals : dtypes::floats).contains(t.element))
    throw error(
        code::invalid_argument,
        std::string(name) + ": expected " + (largest ? "real numbers" : "floats") + ", got " + t.text() + "; cast it",
        x.name());
  auto const usable = [](dim d) { return d.known() && d.extent > 0 && d.extent <= INT32_MAX; };
  if (!t.has_rank() || t.rank != 4 || !usable(t[1]) || !usable(t[2]))
    throw error(code::invalid_argument,
                std::string(name) + ": expected images [n, height, width, channels] of a known height and width, got " +
                    t.text(),
                x.name());
  if (height <= 0 || width <= 0 || height > 65535 || width > 65535)
    throw error(code::invalid_argument,
                std::string(name) + ": expected a height and width from 1 to 65535, got " + std::to_string(height) +
                    " and " + std::to_string(width),
                x.name());
  if (t[1].extent % height != 0 || t[2].extent % width != 0)
    return in_wide([&](value v) { return pool_axis(pool_axis(v, 1, height, largest), 2, width, largest); }, x);
  extents const window{t[1].extent / height, t[2].extent / width};
  return largest ? max_pool(x, pooling{.window = window}) : avg_pool(x, average_pooling{.window = window});
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail
#endif

}  // namespace rill
