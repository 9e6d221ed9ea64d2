// Two-dimensional convolutions of images, and their derivatives, which are operations with derivatives, too.
#pragma once
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/network/window.hpp"

namespace rill {

/// Options of a convolution: `conv2d<convolution{.stride = {2, 2}}>(x, filter)`. Lists have a number for height and one
/// for width; `pads` has top, bottom, left and right, for padding::given.
struct convolution {
  extents stride{}, dilation{};  ///< empty: 1, 1
  padding pad = padding::same;
  extents pads{};
  static constexpr auto fields(auto const& take) {
    return take(field{"stride", &convolution::stride}, field{"dilation", &convolution::dilation},
                field{"pad", &convolution::pad}, field{"pads", &convolution::pads});
  }
};

namespace ops {

/// A convolution on raw pointers: two of x, filter and y in y = x * filter are given, the third is computed.
struct convolution_call {
  std::int64_t batch, height, width, channels;
  std::int64_t filter_height, filter_width, out_channels;
  std::int64_t out_height, out_width;
  std::int64_t stride_y, stride_x, top, left, dilation_y, dilation_x;
  void *x, *filter, *y, *scratch;
};
/// The kernels of a convolution by element type, and the sizes of their scratch.
struct convolution_table {
  std::array<void (*)(convolution_call const&, parallel const&), dtype_count> run{};
  std::array<std::size_t (*)(convolution_call const&, int threads), dtype_count> scratch{};
};

/// What the three operations share. Each computes one of x [n, height, width, channels], filter [height, width,
/// channels, out_channels] and y from the other two. `Op::run<T>` computes it for elements of type T in
/// `Op::scratch<T>` bytes of scratch.
template <class Op> struct convolving {
  static constexpr dtypes elements = dtypes::floats;
  using attributes = convolution;
  using kernels = convolution_table;

  /// Returns the windows along height (0) or width (1).
  static constexpr sliding along(convolution const& a, type const& filter, std::size_t axis, checks expects = {}) {
    auto const pads = checked_pads(a.pad, a.pads, expects);
    auto const window = filter.has_rank() && filter[axis].known() ? filter[axis].extent : 1;
    bool const fits = expects(window >= 1 && window <= INT32_MAX,
                              "conv2d: the height and width of the filter must be from 1 to 2147483647");
    return {fits ? window : 1,
            pair_of(a.stride, 1, 1, "conv2d: strides must be two positive numbers", expects)[axis],
            pair_of(a.dilation, 1, 1, "conv2d: dilations must be two positive numbers", expects)[axis],
            a.pad,
            pads[2 * axis],
            pads[2 * axis + 1]};
  }
  static constexpr type result(convolution const& a, type const& x, type const& filter, checks expects = {}) {
    expects(elements.contains(x.element), "conv2d: the operands are not floats; cast them");
    expects(x.element == filter.element, "conv2d: the operands have different element types; cast one of them");
    expects(!x.has_rank() || x.rank == 4, "conv2d: the image is not of rank 4: [batch, height, width, channels]");
    expects(!filter.has_rank() || filter.rank == 4,
            "conv2d: the filter is not of rank 4: [height, width, channels, out_channels]");
    if (x.has_rank() && filter.has_rank())
      agree(x[3], filter[2], "conv2d: image and filter differ in their channels", expects);
    type y{x.element, {unknown, unknown, unknown, filter.has_rank() ? filter[3] : unknown}};
    if (x.has_rank()) y[0] = x[0];
    for (std::size_t i = 0; i < 2; ++i) {
      bool const known = filter.has_rank() && filter[i].known();
      auto const windows = along(a, filter, i, expects);
      if (x.has_rank())
        y[i + 1] = windows.windows(x[i + 1], known, "conv2d: the filter is larger than the padded image", expects);
    }
    return y;
  }
  static cost work(convolution const&, std::span<type const> in, std::span<type const> out) {
    cost c{0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
    auto const &filter = in[1], &y = in.size() == 2 ? out[0] : in[2];  // each number of a filter meets each pixel of y
    if (!filter.is_known() || !y.is_known()) return c;
    double flops = 2;
    for (std::size_t i = 0; i < 3; ++i) flops *= static_cast<double>(filter[i].extent);
    c.flops = flops * static_cast<double>(rill::elements(y.shape()));
    return c;
  }

  template <dtypes Set> static constexpr convolution_table make_kernels();
  /// Returns the kernel of one of the three operations; `place` stores the pointers of x, filter and y.
  static kernel make(kernel_request const& r, convolution const& a, type const& x, type const& filter, type const& y,
                     void (*place)(convolution_call&, kernel_call const&));
};

struct conv2d_op : convolving<conv2d_op> {
  using library = void;
  static constexpr std::string_view name = "conv2d",
                                    doc =
                                        "the convolution of images [n, height, width, channels] with a filter "
                                        "[height, width, channels, out_channels]";
  static constexpr std::int8_t arity = 2;
  static constexpr type infer(convolution const& a, type const& x, type const& filter, checks expects = {}) {
    return result(a, x, filter, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<convolution>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = conv2d_input_gradient(V(r.in(0)), r.in(1), r.dy(), a);
    if (r.wanted[1]) all[1] = conv2d_filter_gradient(V(r.in(0)), r.in(1), r.dy(), a);
    return all;
  }
  template <class T> static void run(convolution_call const& c, parallel const& threads);
  template <class T> static std::size_t scratch(convolution_call const& c, int threads);
  static kernel cpu(kernel_request const& r);
};

struct conv2d_input_gradient_op : convolving<conv2d_input_gradient_op> {
  using library = void;
  static constexpr std::string_view name = "conv2d_input_gradient",
                                    doc =
                                        "the derivative of conv2d with respect to images of the first operand's "
                                        "extents, from the filter and the derivative of the result";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b001;
  static constexpr type infer(convolution const& a, type const& x, type const& filter, type const& dy,
                              checks expects = {}) {
    expects(accepts(result(a, x.with(filter.element), filter, expects), dy),
            "conv2d_input_gradient: the gradient does not have the extents of the result of conv2d");
    return x.with(filter.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<convolution>(r.origin().attributes);
    std::vector<gradient> all(3);
    if (r.wanted[1]) all[1] = conv2d_filter_gradient(V(r.dy()), r.in(1), r.in(2), a);
    if (r.wanted[2]) all[2] = conv2d(V(r.dy()), r.in(1), a);
    return all;
  }
  template <class T> static void run(convolution_call const& c, parallel const& threads);
  template <class T> static std::size_t scratch(convolution_call const& c, int threads);
  static kernel cpu(kernel_request const& r);
};

struct conv2d_filter_gradient_op : convolving<conv2d_filter_gradient_op> {
  using library = void;
  static constexpr std::string_view name = "conv2d_filter_gradient",
                                    doc =
                                        "the derivative of conv2d with respect to a filter of the second operand's "
                                        "extents, from the images and the derivative of the result";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b010;
  static constexpr type infer(convolution const& a, type const& x, type const& filter, type const& dy,
                              checks expects = {}) {
    expects(accepts(result(a, x, filter.with(x.element), expects), dy),
            "conv2d_filter_gradient: the gradient does not have the extents of the result of conv2d");
    return filter.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<convolution>(r.origin().attributes);
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = conv2d_input_gradient(V(r.in(0)), r.dy(), r.in(2), a);
    if (r.wanted[2]) all[2] = conv2d(V(r.in(0)), r.dy(), a);
    return all;
  }
  template <class T> static void run(convolution_call const& c, parallel const& threads);
  template <class T> static std::size_t scratch(convolution_call const& c, int threads);
  static kernel cpu(kernel_request const& r);
};

}  // namespace ops

/// Returns the convolution of images [n, height, width, channels] with a filter [height, width, channels,
/// out_channels]: `conv2d(x, filter)`, `conv2d<convolution{.stride = {2, 2}, .pad = padding::valid}>(x, filter)`. As
/// usual in machine learning, the filter is not flipped: y[i, j] = sum of x[i s + k, j s + l] filter[k, l].
template <convolution How = convolution{}, operand X, operand F> auto conv2d(X x, F filter) {
  return record<ops::conv2d_op, How>(x, filter);
}
/// Returns the same for options known only at run time.
inline value conv2d(value x, value filter, convolution const& how) {
  return record_erased<ops::conv2d_op>(detail::graph_of(x), how, {x, filter});
}
/// Returns the derivative of conv2d(x, filter) with respect to x; only the extents of x matter.
inline value conv2d_input_gradient(value x, value filter, value dy, convolution const& how) {
  return record_erased<ops::conv2d_input_gradient_op>(detail::graph_of(x), how, {x, filter, dy});
}
/// Returns the derivative of conv2d(x, filter) with respect to the filter; only the extents of the filter matter.
inline value conv2d_filter_gradient(value x, value filter, value dy, convolution const& how) {
  return record_erased<ops::conv2d_filter_gradient_op>(detail::graph_of(x), how, {x, filter, dy});
}

}  // namespace rill

#include "rill/ops/network/conv2d.ipp"
