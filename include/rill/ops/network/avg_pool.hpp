// The mean of each window of an image, and of whole images.
#pragma once
#include "rill/ops/network/pooling.hpp"
#include "rill/ops/reduction/max.hpp"

namespace rill {

/// How windows lie over an image, as `pooling` says it, and whether padding, which is 0, counts:
/// `avg_pool<average_pooling{.window = {3, 3}, .pad = padding::same}>(x)`.
struct average_pooling {
  extents window{2, 2}, stride{};  ///< no stride: the window's extents, so that windows don't overlap
  padding pad = padding::valid;
  extents pads{};
  bool count_padding = false;  ///< the sum is divided by the window's size, also where it lies beyond the image
  static constexpr auto fields(auto const& take) {
    using a = average_pooling;
    return take(field{"window", &a::window}, field{"stride", &a::stride}, field{"pad", &a::pad},
                field{"pads", &a::pads}, field{"count_padding", &a::count_padding});
  }
};

namespace ops {

struct avg_pool_op : windowing<avg_pool_op, average_pooling> {
  using library = void;
  static constexpr std::string_view name = "avg_pool",
                                    doc =
                                        "the mean of each window of images [n, height, width, channels], of its pixels "
                                        "in the image alone unless padding is to count";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::floats;
  static constexpr type infer(average_pooling const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "avg_pool: the images are not of floats; cast them");
    return result(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {avg_pool_gradient(V(r.in(0)), r.dy(), decode<average_pooling>(r.origin().attributes))};
  }
#if RILL_KERNELS
  template <class T> static void run(pooling_call const& c, parallel const& threads) {
    rill::kernels::avg_pool(shape_of(c), c.count_padding, static_cast<T const*>(c.x), static_cast<T*>(c.result),
                            threads);
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return make(r, r.inputs[0], r.outputs[0]); }
#endif
};

struct avg_pool_gradient_op : windowing<avg_pool_gradient_op, average_pooling> {
  using library = void;
  static constexpr std::string_view name = "avg_pool_gradient",
                                    doc =
                                        "zeros of the images' extents, with each window's value shared out among the "
                                        "pixels that avg_pool takes the mean of";
  static constexpr std::int8_t arity = 2;
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
#if RILL_KERNELS
  template <class T> static void run(pooling_call const& c, parallel const& threads) {
    rill::kernels::avg_pool_gradient(shape_of(c), c.count_padding, static_cast<T const*>(c.other),
                                     static_cast<T*>(c.result), threads);
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return make(r, r.inputs[0], r.inputs[1]); }
#endif
};

}  // namespace ops

/// The mean of each window of images [n, height, width, channels]: `avg_pool(x)` (2 x 2, no padding). What lies beyond
/// the image does not count, as in TensorFlow, unless `count_padding` says so.
template <average_pooling How = average_pooling{}, operand X> auto avg_pool(X x) {
  return record<ops::avg_pool_op, How>(x);
}
/// The same where only the run of the program knows how.
inline value avg_pool(value x, average_pooling const& how) {
  return record_erased<ops::avg_pool_op>(detail::graph_of(x), how, {x});
}
/// The derivative of avg_pool(x), from that of its result; x is asked for its extents alone.
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

/// The mean of each channel of images [n, height, width, channels]: [n, channels].
template <operand X> auto global_avg_pool(X x) {
  detail::expect_images(x);
  return mean<1, 2>(x);
}
/// The same as [n, 1, 1, channels].
template <operand X> auto global_avg_pool(X x, keep_extents) {
  detail::expect_images(x);
  return mean<1, 2>(x, keep);
}
/// The largest of each channel of images [n, height, width, channels]: [n, channels].
template <operand X> auto global_max_pool(X x) {
  detail::expect_images(x);
  return max<1, 2>(x);
}
/// The same as [n, 1, 1, channels].
template <operand X> auto global_max_pool(X x, keep_extents) {
  detail::expect_images(x);
  return max<1, 2>(x, keep);
}

}  // namespace rill
