// Convolutions of each channel of images by itself, and their derivatives, which are operations with derivatives, too.
#pragma once
#include <vector>

#include "rill/ops/array/stack.hpp"
#include "rill/ops/network/conv2d.hpp"

namespace rill {

namespace ops {

/// What the three operations share. Each computes one of x [n, height, width, channels], filter [height, width,
/// channels] and y from the other two.
template <class Op> struct convolving_channels : convolving<Op> {
  static constexpr type result(convolution const& a, type const& x, type const& filter, checks expects = {}) {
    expects(dtypes::floats.contains(x.element), "depthwise_conv2d: the operands are not floats; cast them");
    expects(x.element == filter.element,
            "depthwise_conv2d: the operands have different element types; cast one of them");
    expects(!x.has_rank() || x.rank == 4,
            "depthwise_conv2d: the image is not of rank 4: [batch, height, width, channels]");
    expects(!filter.has_rank() || filter.rank == 3,
            "depthwise_conv2d: the filter is not of rank 3: [height, width, channels]");
    type y{x.element, {unknown, unknown, unknown, unknown}};
    if (filter.has_rank()) y[3] = filter[2];
    if (x.has_rank()) y[0] = x[0], y[3] = x[3];
    if (x.has_rank() && filter.has_rank())
      y[3] = agree(x[3], filter[2], "depthwise_conv2d: image and filter differ in their channels", expects);
    for (std::size_t i = 0; i < 2; ++i) {
      bool const known = filter.has_rank() && filter[i].known();
      auto const windows = convolving<Op>::along(a, filter, i, expects);
      if (x.has_rank())
        y[i + 1] =
            windows.windows(x[i + 1], known, "depthwise_conv2d: the filter is larger than the padded image", expects);
    }
    return y;
  }
  static cost work(convolution const&, std::span<type const> in, std::span<type const> out) {
    cost c{0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
    auto const &filter = in[1], &y = in.size() == 2 ? out[0] : in[2];
    if (filter.is_known() && y.is_known())
      c.flops = 2 * static_cast<double>(filter[0].extent) * static_cast<double>(filter[1].extent) *
                static_cast<double>(rill::elements(y.shape()));
    return c;
  }
};

struct depthwise_conv2d_op : convolving_channels<depthwise_conv2d_op> {
  using library = void;
  static constexpr std::string_view name = "depthwise_conv2d",
                                    doc =
                                        "the convolution of each channel of images [n, height, width, channels] with "
                                        "its own filter, of [height, width, channels]";
  static constexpr std::int8_t arity = 2;
  static constexpr type infer(convolution const& a, type const& x, type const& filter, checks expects = {}) {
    return result(a, x, filter, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<convolution>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = depthwise_conv2d_input_gradient(V(r.in(0)), r.in(1), r.dy(), a);
    if (r.wanted[1]) all[1] = depthwise_conv2d_filter_gradient(V(r.in(0)), r.in(1), r.dy(), a);
    return all;
  }
  template <class T> static void run(convolution_call const& c, parallel const& threads);
  template <class T> static std::size_t scratch(convolution_call const& c, int threads);
  static kernel cpu(kernel_request const& r);
};

struct depthwise_conv2d_input_gradient_op : convolving_channels<depthwise_conv2d_input_gradient_op> {
  using library = void;
  static constexpr std::string_view name = "depthwise_conv2d_input_gradient",
                                    doc =
                                        "the derivative of depthwise_conv2d with respect to images of the first "
                                        "operand's extents, from the filter and the derivative of the result";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b001;
  static constexpr type infer(convolution const& a, type const& x, type const& filter, type const& dy,
                              checks expects = {}) {
    expects(accepts(result(a, x.with(filter.element), filter, expects), dy),
            "depthwise_conv2d_input_gradient: the gradient does not have the extents of the result");
    return x.with(filter.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<convolution>(r.origin().attributes);
    std::vector<gradient> all(3);
    if (r.wanted[1]) all[1] = depthwise_conv2d_filter_gradient(V(r.dy()), r.in(1), r.in(2), a);
    if (r.wanted[2]) all[2] = depthwise_conv2d(V(r.dy()), r.in(1), a);
    return all;
  }
  template <class T> static void run(convolution_call const& c, parallel const& threads);
  template <class T> static std::size_t scratch(convolution_call const& c, int threads);
  static kernel cpu(kernel_request const& r);
};

struct depthwise_conv2d_filter_gradient_op : convolving_channels<depthwise_conv2d_filter_gradient_op> {
  using library = void;
  static constexpr std::string_view name = "depthwise_conv2d_filter_gradient",
                                    doc =
                                        "the derivative of depthwise_conv2d with respect to a filter of the second "
                                        "operand's extents, from the images and the derivative of the result";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b010;
  static constexpr type infer(convolution const& a, type const& x, type const& filter, type const& dy,
                              checks expects = {}) {
    expects(accepts(result(a, x, filter.with(x.element), expects), dy),
            "depthwise_conv2d_filter_gradient: the gradient does not have the extents of the result");
    return filter.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<convolution>(r.origin().attributes);
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = depthwise_conv2d_input_gradient(V(r.in(0)), r.dy(), r.in(2), a);
    if (r.wanted[2]) all[2] = depthwise_conv2d(V(r.in(0)), r.dy(), a);
    return all;
  }
  template <class T> static void run(convolution_call const& c, parallel const& threads);
  template <class T> static std::size_t scratch(convolution_call const& c, int threads);
  static kernel cpu(kernel_request const& r);
};

}  // namespace ops

/// Returns the derivative of a depthwise convolution with respect to x; only the extents of x matter.
inline value depthwise_conv2d_input_gradient(value x, value filter, value dy, convolution const& how) {
  return record_erased<ops::depthwise_conv2d_input_gradient_op>(detail::graph_of(x), how, {x, filter, dy});
}
/// Returns the derivative of a depthwise convolution with respect to the filter; only the extents of the filter matter.
inline value depthwise_conv2d_filter_gradient(value x, value filter, value dy, convolution const& how) {
  return record_erased<ops::depthwise_conv2d_filter_gradient_op>(detail::graph_of(x), how, {x, filter, dy});
}

namespace detail {

/// The most filters for each channel.
inline constexpr std::int64_t most_filters_of_channel = 65535;

/// Returns x [n, height, width, channels] with each channel repeated `times` times.
value repeated_channels(value x, std::int64_t times);
/// Returns a filter [height, width, channels, multiplier] as [height, width, channels · multiplier].
value merged_filter(value filter);

/// Returns the type of a merged filter.
constexpr type merged_filter_type(type const& filter, checks expects = {}) {
  expects(filter.rank == 4 && filter[3].known() && filter[3].extent > 0 && filter[3].extent <= most_filters_of_channel,
          "depthwise_conv2d: the number of filters for each channel must be known, and from 1 to 65535");
  dim const channels = filter[2].known() ? dim(checked_product(filter[2].extent, filter[3].extent)) : unknown;
  return {filter.element, {filter[0], filter[1], filter[3] == dim(1) ? filter[2] : channels}};
}

}  // namespace detail

value depthwise_conv2d(value x, value filter, convolution const& how);

/// Returns the convolution of each channel of images [n, height, width, channels] by itself, with a filter [height,
/// width, channels]: [n, out_height, out_width, channels]. With a filter [height, width, channels, multiplier] each
/// channel gives `multiplier` channels, one beside the other, as in TensorFlow. `depthwise_conv2d(x, filter)`,
/// `depthwise_conv2d<convolution{.stride = {2, 2}}>(x, filter)`.
template <convolution How = convolution{}, operand X, operand F> auto depthwise_conv2d(X x, F filter) {
  if constexpr (typed<X> && typed<F>) {
    constexpr type f = F::static_type, in = X::static_type;
    if constexpr (f.has_rank() && f.rank == 4 && in.has_rank() && in.rank == 4) {
      constexpr type merged = detail::merged_filter_type(f);
      constexpr auto times = f[3].extent;
      constexpr type wide{in.element,
                          {in[0], in[1], in[2], times == 1 || !in[3].known() ? in[3] : in[3].extent * times}};
      return record<ops::depthwise_conv2d_op, How>(expr<wide>{detail::repeated_channels(x, times)},
                                                   expr<merged>{detail::merged_filter(filter)});
    } else return record<ops::depthwise_conv2d_op, How>(x, filter);
  } else return depthwise_conv2d(value(x), value(filter), How);
}
/// Returns the same for options known only at run time.
inline value depthwise_conv2d(value x, value filter, convolution const& how) {
  auto const& f = filter.type();
  if (f.has_rank() && f.rank == 4) {
    detail::merged_filter_type(f);  // checks the multiplier
    return depthwise_conv2d(detail::repeated_channels(x, f[3].extent), detail::merged_filter(filter), how);
  }
  return record_erased<ops::depthwise_conv2d_op>(detail::graph_of(x), how, {x, filter});
}

/// Returns a 1 x 1 convolution of a depthwise one: with filters [height, width, channels, multiplier] and [1, 1,
/// channels · multiplier, out_channels] (F. Chollet, Xception, CVPR 2017). Stride, dilation and padding are those of
/// the depthwise convolution.
template <convolution How = convolution{}, operand X, operand D, operand P>
auto separable_conv2d(X x, D depthwise, P pointwise) {
  return conv2d(depthwise_conv2d<How>(x, depthwise), pointwise);
}
/// Returns the same for options known only at run time.
inline value separable_conv2d(value x, value depthwise, value pointwise, convolution const& how) {
  return conv2d(depthwise_conv2d(x, depthwise, how), pointwise, {});
}

#if RILL_RUNTIME
namespace detail {

RILL_INLINE value repeated_channels(value x, std::int64_t times) try {
  if (times == 1) return x;
  std::vector<value> const copies(static_cast<std::size_t>(times), x);
  return reshape_like(stack(copies, -1), concat(copies, -1));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE value merged_filter(value filter) {
  if (filter.type()[3] == dim(1)) return squeeze(filter, 3);
  auto const to = merged_filter_type(filter.type());
  expects(to.is_known(),
          "depthwise_conv2d: the extents of a filter with several numbers for each channel must be known");
  return record_erased<ops::reshape_op>(graph_of(filter), {to}, {filter});
}

}  // namespace detail
#endif

}  // namespace rill

#include "rill/ops/network/depthwise_conv2d.ipp"
