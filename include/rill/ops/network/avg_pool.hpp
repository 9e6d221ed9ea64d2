// Average pooling of images, over windows and over whole images.
#pragma once
#include "rill/ops/network/pooling.hpp"
#include "rill/ops/reduction/max.hpp"

namespace rill {

/// The windows over an image, as in `pooling`, and whether padding counts as zeros: `avg_pool<average_pooling{.window =
/// {3, 3}, .pad = padding::same}>(x)`.
struct average_pooling {
  extents window{2, 2}, stride{};  ///< empty: the extents of the window, so that windows don't overlap
  padding pad = padding::valid;
  extents pads{};
  bool count_padding = false;  ///< divides by the size of the whole window, including padding
  static constexpr auto fields(auto const& take) {
    using a = average_pooling;
    return take(field{"window", &a::window}, field{"stride", &a::stride}, field{"pad", &a::pad},
                field{"pads", &a::pads}, field{"count_padding", &a::count_padding});
  }
};

namespace ops {

struct avg_pool_op : windowing<avg_pool_op, average_pooling> {
  using library = void;
  static constexpr std::string_view name = "avg_pool", doc =
                                                           "the mean of each window of images [n, height, width, "
                                                           "channels], over pixels in the image unless padding counts";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::floats;
  static constexpr type infer(average_pooling const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "avg_pool: the images are not of floats; cast them");
    return result(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {avg_pool_gradient(V(r.in(0)), r.dy(), decode<average_pooling>(r.origin().attributes))};
  }
  template <class T> static void run(pooling_call const& c, parallel const& threads);
};

struct avg_pool_gradient_op : windowing<avg_pool_gradient_op, average_pooling> {
  using library = void;
  static constexpr std::string_view
      name = "avg_pool_gradient",
      doc =
          "zeros of the images' extents, with the value of each window divided among the pixels that avg_pool averages";
  static constexpr std::int8_t arity = 2;
  static constexpr bool takes_windows = true;
  static constexpr std::uint32_t shape_only = 1;
  static constexpr dtypes elements = dtypes::floats;
  static constexpr type infer(average_pooling const& a, type const& x, type const& dy, checks expects = {}) {
    expects(elements.contains(x.element), "avg_pool_gradient: the images are not of floats");
    expects(accepts(result(a, x, expects), dy), "avg_pool_gradient: the gradient is not of the windows' extents");
    return x;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[1]) all[1] = avg_pool(V(r.dy()), decode<average_pooling>(r.origin().attributes));
    return all;
  }
  template <class T> static void run(pooling_call const& c, parallel const& threads);
};

}  // namespace ops

/// Returns the mean of each window of images [n, height, width, channels]: `avg_pool(x)` (2 x 2, no padding). Padding
/// does not count, as in TensorFlow, unless `count_padding` is set.
template <average_pooling How = average_pooling{}, operand X> auto avg_pool(X x) {
  return record<ops::avg_pool_op, How>(x);
}
/// Returns the same for options known only at run time.
inline value avg_pool(value x, average_pooling const& how) {
  return record_erased<ops::avg_pool_op>(detail::graph_of(x), how, {x});
}
/// Returns the derivative of avg_pool(x) from the derivative of its result; only the extents of x matter.
inline value avg_pool_gradient(value x, value dy, average_pooling const& how) {
  return record_erased<ops::avg_pool_gradient_op>(detail::graph_of(x), how, {x, dy});
}

namespace detail {
template <class X> void expect_images(X const& x) {
  constexpr auto is_images = [](type const& t) { return !t.has_rank() || t.rank == 4; };
  if constexpr (typed<X>)
    static_assert(is_images(X::static_type), "the images are not of rank 4: [batch, height, width, channels]");
  else expects(is_images(x.type()), "the images are not of rank 4: [batch, height, width, channels]");
}
}  // namespace detail

/// Returns the mean of each channel of images [n, height, width, channels]: [n, channels].
template <operand X> auto global_avg_pool(X x) {
  detail::expect_images(x);
  return mean<1, 2>(x);
}
/// Returns the same as [n, 1, 1, channels].
template <operand X> auto global_avg_pool(X x, keep_extents) {
  detail::expect_images(x);
  return mean<1, 2>(x, keep);
}
/// Returns the largest of each channel of images [n, height, width, channels]: [n, channels].
template <operand X> auto global_max_pool(X x) {
  detail::expect_images(x);
  return max<1, 2>(x);
}
/// Returns the same as [n, 1, 1, channels].
template <operand X> auto global_max_pool(X x, keep_extents) {
  detail::expect_images(x);
  return max<1, 2>(x, keep);
}

}  // namespace rill

#if RILL_KERNELS
namespace rill::ops {

template <class T> void avg_pool_op::run(pooling_call const& c, parallel const& threads) {
  rill::kernels::avg_pool(shape_of(c), c.count_padding, static_cast<T const*>(c.x), static_cast<T*>(c.result), threads);
}

template <class T> void avg_pool_gradient_op::run(pooling_call const& c, parallel const& threads) {
  rill::kernels::avg_pool_gradient(shape_of(c), c.count_padding, static_cast<T const*>(c.other),
                                   static_cast<T*>(c.result), threads);
}

}  // namespace rill::ops
#endif
