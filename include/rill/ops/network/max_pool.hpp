// Max pooling of images, and its derivatives.
#pragma once
#include "rill/ops/network/pooling.hpp"

namespace rill {

namespace ops {

struct max_pool_op : windowing<max_pool_op> {
  using library = void;
  static constexpr std::string_view name = "max_pool",
                                    doc =
                                        "the largest pixel of each window of images [n, height, width, channels], NaN "
                                        "if there is one; the first of equal pixels gets the derivative";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::reals;
  static constexpr type infer(pooling const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "max_pool: the operand is not of real numbers; cast it");
    return result(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {max_pool_gradient(V(r.in(0)), r.dy(), decode<pooling>(r.origin().attributes))};
  }
  template <class T> static void run(pooling_call const& c, parallel const& threads);
};

struct max_pool_gradient_op : windowing<max_pool_gradient_op> {
  using library = void;
  static constexpr std::string_view
      name = "max_pool_gradient",
      doc = "zeros of the images' extents, with the value of each window added at its largest pixel";
  static constexpr std::int8_t arity = 2;
  static constexpr bool takes_windows = true, adds_windows = true;
  static constexpr dtypes elements = dtypes::floats;
  static constexpr type infer(pooling const& a, type const& x, type const& dy, checks expects = {}) {
    expects(elements.contains(x.element), "max_pool_gradient: the images are not of floats");
    expects(accepts(result(a, x, expects), dy), "max_pool_gradient: the gradient is not of the windows' extents");
    return x;
  }
  // The positions of the largest pixels are constant almost everywhere.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[1]) all[1] = max_pool_pick(V(r.in(0)), r.dy(), decode<pooling>(r.origin().attributes));
    return all;
  }
  template <class T> static void run(pooling_call const& c, parallel const& threads);
};

struct max_pool_pick_op : windowing<max_pool_pick_op> {
  using library = void;
  static constexpr std::string_view
      name = "max_pool_pick",
      doc = "for each window over x, the element of the second operand at the position of the window's largest pixel";
  static constexpr std::int8_t arity = 2;
  static constexpr dtypes elements = dtypes::floats;
  static constexpr type infer(pooling const& a, type const& x, type const& from, checks expects = {}) {
    expects(elements.contains(x.element), "max_pool_pick: the images are not of floats");
    expects(accepts(x, from), "max_pool_pick: the values are not of the images' extents");
    return result(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[1]) all[1] = max_pool_gradient(V(r.in(0)), r.dy(), decode<pooling>(r.origin().attributes));
    return all;
  }
  // The largest pixel is the same as in the derivative: the first NaN, or the first of equal pixels.
  template <class T> static void run(pooling_call const& c, parallel const& threads);
};

}  // namespace ops

/// Returns the largest of each window of images [n, height, width, channels]: `max_pool(x)` (2 x 2, no padding),
/// `max_pool<pooling{.window = {3, 3}, .stride = {2, 2}, .pad = padding::same}>(x)`. Padding does not count.
template <pooling How = pooling{}, operand X> auto max_pool(X x) { return record<ops::max_pool_op, How>(x); }
/// Returns the same for options known only at run time.
inline value max_pool(value x, pooling const& how) {
  return record_erased<ops::max_pool_op>(detail::graph_of(x), how, {x});
}
/// Returns the derivative of max_pool(x) from the derivative of its result.
inline value max_pool_gradient(value x, value dy, pooling const& how) {
  return record_erased<ops::max_pool_gradient_op>(detail::graph_of(x), how, {x, dy});
}
/// Returns for each window over x the element of `from` at the position of the window's largest pixel.
inline value max_pool_pick(value x, value from, pooling const& how) {
  return record_erased<ops::max_pool_pick_op>(detail::graph_of(x), how, {x, from});
}

}  // namespace rill

#if RILL_KERNELS
namespace rill::ops {

template <class T> void max_pool_op::run(pooling_call const& c, parallel const& threads) {
  rill::kernels::max_pool(shape_of(c), static_cast<T const*>(c.x), static_cast<T*>(c.result), threads);
}

template <class T> void max_pool_gradient_op::run(pooling_call const& c, parallel const& threads) {
  rill::kernels::max_pool_gradient(shape_of(c), static_cast<T const*>(c.x), static_cast<T const*>(c.other),
                                   static_cast<T*>(c.result),
                                   static_cast<typename rill::kernels::detail::pooling<T>::V*>(c.sums), threads);
}

template <class T> void max_pool_pick_op::run(pooling_call const& c, parallel const& threads) {
  auto const* const x = static_cast<T const*>(c.x);
  auto const* const from = static_cast<T const*>(c.other);
  auto const image = shape_of(c);
  threads(static_cast<std::size_t>(c.batch * c.out_height), [&](std::size_t row) {
    auto const n = static_cast<std::int64_t>(row) / c.out_height, i = static_cast<std::int64_t>(row) % c.out_height;
    auto* y = static_cast<T*>(c.result) + static_cast<std::int64_t>(row) * c.out_width * c.channels;
    for (std::int64_t j = 0; j < c.out_width; ++j) {
      auto const window = rill::kernels::detail::window_of(image, i, j);
      for (std::int64_t channel = 0; channel < c.channels; ++channel) {
        std::int64_t best = -1;
        for (auto p = window.top; p < window.bottom; ++p)
          for (auto q = window.left; q < window.right; ++q) {
            auto const at = ((n * c.height + p) * c.width + q) * c.channels + channel;
            if (best < 0 || x[at] > x[best] || (x[at] != x[at] && x[best] == x[best])) best = at;
          }
        *y++ = best < 0 ? T(0) : from[best];
      }
    }
  });
}

}  // namespace rill::ops
#endif
