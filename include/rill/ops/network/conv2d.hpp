// Two-dimensional convolutions of images, and their gradients, which are operations and have gradients themselves.
#pragma once
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/network/window.hpp"

#if RILL_KERNELS
#include "rill/ops/network/convolution_kernels.hpp"
#endif

namespace rill {

/// How a filter slides over an image: `conv2d<convolution{.stride = {2, 2}}>(x, filter)`. Lists are of height and
/// width; `pads` of top, bottom, left and right, for padding::given.
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

/// A convolution on raw pointers; the three operands of y = x * filter, two of which are given.
struct convolution_call {
  std::int64_t batch, height, width, channels;
  std::int64_t filter_height, filter_width, out_channels;
  std::int64_t out_height, out_width;
  std::int64_t stride_y, stride_x, top, left, dilation_y, dilation_x;
  void *x, *filter, *y, *scratch;
};
/// Its kernels by element type, and the scratch that they need.
struct convolution_table {
  std::array<void (*)(convolution_call const&, parallel const&), dtype_count> run{};
  std::array<std::size_t (*)(convolution_call const&, int threads), dtype_count> scratch{};
};

/// What the three operations share: which of x [n, height, width, channels], filter [height, width, channels,
/// out_channels] and y is computed from the others. Op's `run<T>` does it for elements of type T, in the scratch that
/// `scratch<T>` says.
template <class Op> struct convolving {
  static constexpr dtypes elements = dtypes::floats;
  using attributes = convolution;
  using kernels = convolution_table;

  /// How the filter slides along height (0) and width (1).
  static constexpr sliding along(convolution const& a, type const& filter, std::size_t axis, checks expects = {}) {
    auto const pads = checked_pads(a.pad, a.pads, expects);
    auto const window = filter.has_rank() && filter[axis].known() ? filter[axis].extent : 1;
    expects(window >= 1 && window <= INT32_MAX, "conv2d: the filter has no height or width, or too much of it");
    return {window,
            pair_of(a.stride, 1, 1, "conv2d: a stride is two numbers from 1 on", expects)[axis],
            pair_of(a.dilation, 1, 1, "conv2d: a dilation is two numbers from 1 on", expects)[axis],
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
      agree(x[3], filter[2], "conv2d: the image's channels are not the filter's", expects);
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

#if RILL_KERNELS
  static constexpr rill::kernels::convolution_shape shape_of(convolution_call const& c) {
    return {c.batch,        c.height,       c.width,      c.channels,   c.filter_height,
            c.filter_width, c.out_channels, c.out_height, c.out_width,  c.stride_y,
            c.stride_x,     c.top,          c.left,       c.dilation_y, c.dilation_x};
  }
  template <dtypes Set> static constexpr convolution_table make_kernels() {
    convolution_table t;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) {
      t.run[d] = Op::template run<T>;
      t.scratch[d] = Op::template scratch<T>;
    });
    return t;
  }
#endif
#if RILL_DEFINITIONS
  /// The kernel of one of the three; `place` says which pointers are x, filter and y, and `result` what is computed.
  static kernel make(kernel_request const& r, type const& x, type const& filter, type const& y,
                     void (*place)(convolution_call&, kernel_call const&)) {
    auto const a = decode<convolution>(r.at.attributes);
    auto const vertical = along(a, filter, 0), horizontal = along(a, filter, 1);
    convolution_call c{x[0].extent,
                       x[1].extent,
                       x[2].extent,
                       x[3].extent,
                       filter[0].extent,
                       filter[1].extent,
                       filter[3].extent,
                       y[1].extent,
                       y[2].extent,
                       vertical.stride,
                       horizontal.stride,
                       vertical.first(x[1].extent),
                       horizontal.first(x[2].extent),
                       vertical.dilation,
                       horizontal.dilation,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr};
    auto const bytes = r.outputs[0].bytes();
    if (rill::elements(x.shape()) == 0 || rill::elements(filter.shape()) == 0 || rill::elements(y.shape()) == 0)
      return kernel([bytes](kernel_call const& call) {
        if (bytes != 0) std::memset(call.out(0), 0, bytes);
      });
    auto const element = static_cast<std::size_t>(x.element);
    auto const& kernels = kernels_of<Op>(x.element);
    auto const run = kernels.run[element];
    return kernel(
        [=, threads = r.threads](kernel_call const& call) {
          auto with = c;
          place(with, call);
          with.scratch = call.scratch();
          parallel as_planned = call.threads;  // scratch was made for so many
          as_planned.threads = threads;
          run(with, as_planned);
        },
        kernels.scratch[element](c, r.threads));
  }
#endif
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
#if RILL_KERNELS
  template <class T> static void run(convolution_call const& c, parallel const& threads) {
    rill::kernels::convolve(shape_of(c), static_cast<T const*>(c.x), static_cast<T const*>(c.filter),
                            static_cast<T*>(c.y), c.scratch, threads);
  }
  template <class T> static std::size_t scratch(convolution_call const& c, int threads) {
    return rill::kernels::convolve_scratch_bytes<T>(shape_of(c), threads);
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return make(r, r.inputs[0], r.inputs[1], r.outputs[0], [](convolution_call& c, kernel_call const& call) {
      c.x = call.pointers[0];
      c.filter = call.pointers[1];
      c.y = call.pointers[2];
    });
  }
#endif
};

struct conv2d_input_gradient_op : convolving<conv2d_input_gradient_op> {
  using library = void;
  static constexpr std::string_view name = "conv2d_input_gradient",
                                    doc =
                                        "the derivative of a conv2d with respect to images of the first operand's "
                                        "extents, from its filter and the derivative of its result";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b001;
  static constexpr type infer(convolution const& a, type const& x, type const& filter, type const& dy,
                              checks expects = {}) {
    expects(accepts(result(a, x.with(filter.element), filter, expects), dy),
            "conv2d_input_gradient: the gradient is not of the convolution's extents");
    return x.with(filter.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<convolution>(r.origin().attributes);
    std::vector<gradient> all(3);
    if (r.wanted[1]) all[1] = conv2d_filter_gradient(V(r.dy()), r.in(1), r.in(2), a);
    if (r.wanted[2]) all[2] = conv2d(V(r.dy()), r.in(1), a);
    return all;
  }
#if RILL_KERNELS
  template <class T> static void run(convolution_call const& c, parallel const& threads) {
    rill::kernels::convolve_input_gradient(shape_of(c), static_cast<T const*>(c.filter), static_cast<T const*>(c.y),
                                           static_cast<T*>(c.x), c.scratch, threads);
  }
  template <class T> static std::size_t scratch(convolution_call const& c, int threads) {
    return rill::kernels::convolve_input_gradient_scratch_bytes<T>(shape_of(c), threads);
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return make(r, r.outputs[0], r.inputs[1], r.inputs[2], [](convolution_call& c, kernel_call const& call) {
      c.filter = call.pointers[1];
      c.y = call.pointers[2];
      c.x = call.pointers[3];
    });
  }
#endif
};

struct conv2d_filter_gradient_op : convolving<conv2d_filter_gradient_op> {
  using library = void;
  static constexpr std::string_view name = "conv2d_filter_gradient",
                                    doc =
                                        "the derivative of a conv2d with respect to a filter of the second operand's "
                                        "extents, from its images and the derivative of its result";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b010;
  static constexpr type infer(convolution const& a, type const& x, type const& filter, type const& dy,
                              checks expects = {}) {
    expects(accepts(result(a, x, filter.with(x.element), expects), dy),
            "conv2d_filter_gradient: the gradient is not of the convolution's extents");
    return filter.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<convolution>(r.origin().attributes);
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = conv2d_input_gradient(V(r.in(0)), r.dy(), r.in(2), a);
    if (r.wanted[2]) all[2] = conv2d(V(r.in(0)), r.dy(), a);
    return all;
  }
#if RILL_KERNELS
  template <class T> static void run(convolution_call const& c, parallel const& threads) {
    rill::kernels::convolve_filter_gradient(shape_of(c), static_cast<T const*>(c.x), static_cast<T const*>(c.y),
                                            static_cast<T*>(c.filter), c.scratch, threads);
  }
  template <class T> static std::size_t scratch(convolution_call const& c, int threads) {
    return rill::kernels::convolve_filter_gradient_scratch_bytes<T>(shape_of(c), threads);
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return make(r, r.inputs[0], r.outputs[0], r.inputs[2], [](convolution_call& c, kernel_call const& call) {
      c.x = call.pointers[0];
      c.y = call.pointers[2];
      c.filter = call.pointers[3];
    });
  }
#endif
};

}  // namespace ops

/// The convolution of images [n, height, width, channels] with a filter [height, width, channels, out_channels]:
/// `conv2d(x, filter)`, `conv2d<convolution{.stride = {2, 2}, .pad = padding::valid}>(x, filter)`. As in all of this
/// field the filter is not turned round: y[i, j] = sum of x[i s + k, j s + l] filter[k, l].
template <convolution How = convolution{}, operand X, operand F> auto conv2d(X x, F filter) {
  return record<ops::conv2d_op, How>(x, filter);
}
/// The same where only the run of the program knows how.
inline value conv2d(value x, value filter, convolution const& how) {
  return record_erased<ops::conv2d_op>(detail::graph_of(x), how, {x, filter});
}
/// The derivative of conv2d(x, filter) with respect to x: of x only the extents matter.
inline value conv2d_input_gradient(value x, value filter, value dy, convolution const& how) {
  return record_erased<ops::conv2d_input_gradient_op>(detail::graph_of(x), how, {x, filter, dy});
}
/// The derivative of conv2d(x, filter) with respect to the filter: of the filter only the extents matter.
inline value conv2d_filter_gradient(value x, value filter, value dy, convolution const& how) {
  return record_erased<ops::conv2d_filter_gradient_op>(detail::graph_of(x), how, {x, filter, dy});
}

}  // namespace rill
