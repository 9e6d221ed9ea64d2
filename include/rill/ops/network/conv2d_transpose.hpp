// Transposed convolutions of images: the derivative of a convolution with respect to its images as an operation of its
// own, which makes images larger.
#pragma once
#include "rill/ops/network/conv2d.hpp"

namespace rill {

/// Options of a transposed convolution: `conv2d_transpose<transposed_convolution{.stride = {2, 2}}>(x, filter)`.
/// Stride, dilation and padding are those of the convolution of the result that gives images of x's extents. Several
/// heights and widths of the result may do so for a stride above 1: `size` chooses one.
struct transposed_convolution {
  extents stride{}, dilation{};  ///< empty: 1, 1
  padding pad = padding::same;
  extents pads{};
  extents size{};  ///< the height and width of the result; empty: the least (padding::same: x's times the stride)
  static constexpr auto fields(auto const& take) {
    using a = transposed_convolution;
    return take(field{"stride", &a::stride}, field{"dilation", &a::dilation}, field{"pad", &a::pad},
                field{"pads", &a::pads}, field{"size", &a::size});
  }
  /// Returns the options of the convolution of the result.
  constexpr convolution of_result() const { return {stride, dilation, pad, pads}; }
};

namespace ops {

struct conv2d_transpose_op : convolving<conv2d_transpose_op> {
  using library = void;
  static constexpr std::string_view name = "conv2d_transpose",
                                    doc =
                                        "the transposed convolution of images [n, height, width, channels] with a "
                                        "filter [height, width, out_channels, channels]";
  static constexpr std::int8_t arity = 2;
  using attributes = transposed_convolution;

  static constexpr type infer(attributes const& a, type const& x, type const& filter, checks expects = {}) {
    expects(elements.contains(x.element), "conv2d_transpose: the operands are not floats; cast them");
    expects(x.element == filter.element,
            "conv2d_transpose: the operands have different element types; cast one of them");
    bool const sized = expects(a.size.empty() || (a.size.size() == 2 && a.size[0] > 0 && a.size[1] > 0),
                               "conv2d_transpose: the size of the result must be two positive numbers");
    // The kernel plans for each phase of the strides.
    for (auto stride : a.of_result().stride) expects(stride <= 65536, "conv2d_transpose: a stride is above 65536");
    if (!expects(!x.has_rank() || x.rank == 4,
                 "conv2d_transpose: the image is not of rank 4: [batch, height, width, channels]") ||
        !expects(!filter.has_rank() || filter.rank == 4,
                 "conv2d_transpose: the filter is not of rank 4: [height, width, out_channels, channels]") ||
        !sized)
      return x;
    if (x.has_rank() && filter.has_rank())
      agree(x[3], filter[3], "conv2d_transpose: image and filter differ in their channels", expects);
    type y{x.element, {unknown, unknown, unknown, filter.has_rank() ? filter[2] : unknown}};
    if (x.has_rank()) y[0] = x[0];
    for (std::size_t i = 0; i < 2; ++i) y[i + 1] = extent(a, x, filter, i, expects);
    if (x.has_rank())
      expects(accepts(result(a.of_result(), y, filter, expects), x),
              "conv2d_transpose: the convolution of images of that size does not give images of x's extents");
    return y;
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    cost c{0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
    if (!in[0].is_known() || !in[1].is_known()) return c;
    double flops = 2;
    for (std::size_t i = 0; i < 3; ++i) flops *= static_cast<double>(in[1][i].extent);
    c.flops = flops * static_cast<double>(rill::elements(in[0].shape()));
    return c;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<attributes>(r.origin().attributes).of_result();
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = conv2d(V(r.dy()), r.in(1), a);
    if (r.wanted[1]) all[1] = conv2d_filter_gradient(V(r.dy()), r.in(1), r.in(0), a);
    return all;
  }
  template <class T> static void run(convolution_call const& c, parallel const& threads);
  template <class T> static std::size_t scratch(convolution_call const& c, int threads);
  static kernel cpu(kernel_request const& r);

 private:
  // The height (0) or width (1) of the result.
  static constexpr dim extent(attributes const& a, type const& x, type const& filter, std::size_t axis,
                              checks expects) {
    auto const windows = along(a.of_result(), filter, axis, expects);
    if (!a.size.empty()) return a.size[axis];
    if (x.has_rank() && a.pad == padding::same && windows.stride == 1) return x[axis + 1];
    if (!x.has_rank() || !x[axis + 1].known()) return unknown;
    auto const count = x[axis + 1].extent;
    if (!expects(count <= INT32_MAX, "conv2d_transpose: an extent is too large")) return unknown;
    if (a.pad == padding::same) return count * windows.stride;
    if (!filter.has_rank() || !filter[axis].known()) return unknown;
    auto const least = (count - 1) * windows.stride + windows.reach() - windows.before - windows.after;
    if (!expects(count > 0 && least > 0, "conv2d_transpose: no image is that small; set another size or padding"))
      return unknown;
    return least;
  }
};

}  // namespace ops

/// Returns the transposed convolution of images [n, height, width, channels] with a filter [height, width,
/// out_channels, channels], also known as deconvolution: each pixel of x adds the filter, times its channels, to the
/// result. It is the derivative of conv2d(y, filter) with respect to y, and the filter lies as for that, as in
/// TensorFlow.
template <transposed_convolution How = transposed_convolution{}, operand X, operand F>
auto conv2d_transpose(X x, F filter) {
  return record<ops::conv2d_transpose_op, How>(x, filter);
}
/// Returns the same for options known only at run time.
inline value conv2d_transpose(value x, value filter, transposed_convolution const& how) {
  return record_erased<ops::conv2d_transpose_op>(detail::graph_of(x), how, {x, filter});
}

}  // namespace rill

#if RILL_KERNELS
namespace rill::ops {

template <class T> void conv2d_transpose_op::run(convolution_call const& c, parallel const& threads) {
  conv2d_input_gradient_op::run<T>(c, threads);
}

template <class T> std::size_t conv2d_transpose_op::scratch(convolution_call const& c, int threads) {
  return conv2d_input_gradient_op::scratch<T>(c, threads);
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

inline kernel conv2d_transpose_op::cpu(kernel_request const& r) {
  return make(r, decode<attributes>(r.at.attributes).of_result(), r.outputs[0], r.inputs[1], r.inputs[0],
              [](convolution_call& c, kernel_call const& call) {
                c.y = call.pointers[0];
                c.filter = call.pointers[1];
                c.x = call.pointers[2];
              });
}

}  // namespace rill::ops
#endif
