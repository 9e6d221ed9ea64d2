// Convolutions of images and their derivatives as kernels of a GPU.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/device/device.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/type/dtype.hpp"

namespace rill::cuda {

/// What is computed of y = x * filter.
enum class convolution_part : std::uint8_t { result, images_gradient, filter_gradient };

/// The numbers of a text: the type of elements, and whether counters need 64 bits.
struct convolution_numbers {
  dtype element;
  bool wide = false;
};

/// Returns the text of a kernel `convolve`: of the pieces of a product in tiles of `side`, `apart` as sums, or of the
/// only piece. Its parameters are the addresses of the images and the filter, or of what stands for them in a
/// derivative (text/convolution.cuh), the address of the result or of the sums, and a convolution_form.
std::string convolution_text(convolution_part part, convolution_numbers numbers, int side, bool apart);
/// Returns the text of a kernel `add_pixels` that adds the pieces of a derivative with respect to images.
std::string add_pixels_text(convolution_numbers numbers);
/// Returns the text of a kernel `convolve` for convolutions of each channel by itself. Its parameters are the addresses
/// of the two operands and of the result, or of its parts if they are `apart`, a window_form, and for a derivative what
/// text/depthwise.cuh says.
std::string depthwise_text(convolution_part part, convolution_numbers numbers, bool apart);

/// What a kernel may do in several ways that give the same bits.
struct convolution_choices {
  int side;          ///< of the tiles of a product
  bool into_blocks;  ///< whether the depth is cut into blocks, or into parts (product_plan::cut)
  bool wide;         ///< whether counters have 64 bits
};
/// Returns the kernel of a node that convolution_kernel_of has a factory for. Its extents make these choices, unless
/// they are given.
kernel convolution_kernel(kernel_request const& r, std::optional<convolution_choices> const& choices = {});

/// Returns the factory of a convolution's kernel; null: the operation is another one, or its elements are no floats.
kernel_factory convolution_kernel_of(op_def const& op, std::span<type const> inputs);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/map_text.hpp"
#include "rill/cuda/product_kernel.hpp"
#include "rill/cuda/text/convolution_form.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/network/conv2d_transpose.hpp"
#include "rill/ops/network/convolution_kernels.hpp"
#include "rill/ops/network/depthwise_conv2d.hpp"
#include "rill/ops/network/depthwise_kernels.hpp"

namespace rill::cuda {

namespace detail {

using rill::kernels::convolution_shape;

/// The arrays of y = x * filter among a kernel's pointers, and which of them is computed.
struct convolution_node {
  convolution_part part;
  convolution how;
  type x, filter, y;
  std::size_t x_at, filter_at, y_at;

  convolution_shape shape() const {
    auto const vertical = ops::conv2d_op::along(how, filter, 0), horizontal = ops::conv2d_op::along(how, filter, 1);
    return {.batch = x[0].extent,
            .height = x[1].extent,
            .width = x[2].extent,
            .channels = x[3].extent,
            .filter_height = filter[0].extent,
            .filter_width = filter[1].extent,
            .out_channels = y[3].extent,
            .out_height = y[1].extent,
            .out_width = y[2].extent,
            .stride_y = vertical.stride,
            .stride_x = horizontal.stride,
            .top = vertical.first(x[1].extent),
            .left = horizontal.first(x[2].extent),
            .dilation_y = vertical.dilation,
            .dilation_x = horizontal.dilation};
  }
};

inline convolution_node result_node(kernel_request const& r) {
  return {
      convolution_part::result, decode<convolution>(r.at.attributes), r.inputs[0], r.inputs[1], r.outputs[0], 0, 1, 2};
}
inline convolution_node images_gradient_node(kernel_request const& r) {
  return {convolution_part::images_gradient,
          decode<convolution>(r.at.attributes),
          r.outputs[0],
          r.inputs[1],
          r.inputs[2],
          3,
          1,
          2};
}
inline convolution_node filter_gradient_node(kernel_request const& r) {
  return {convolution_part::filter_gradient,
          decode<convolution>(r.at.attributes),
          r.inputs[0],
          r.outputs[0],
          r.inputs[2],
          0,
          3,
          2};
}
inline convolution_node transposed_node(kernel_request const& r) {
  auto const how = decode<transposed_convolution>(r.at.attributes).of_result();
  return {convolution_part::images_gradient, how, r.outputs[0], r.inputs[1], r.inputs[0], 2, 1, 0};
}

inline window_form windows_of(convolution_shape const& s) {
  return {s.batch,     s.height,   s.width,    s.channels, s.filter_height, s.filter_width, s.out_height,
          s.out_width, s.stride_y, s.stride_x, s.top,      s.left,          s.dilation_y,   s.dilation_x};
}

// Whether a place, a number of an array, or a product of the former and a channel count may need 64 bits.
inline bool needs_wide_counters(convolution_shape const& s) {
  constexpr double most = 1 << 30;
  auto const number = [](std::int64_t n) { return static_cast<double>(n); };
  // How far windows reach along an axis, padding and all.
  auto const reach = [&](std::int64_t extent, std::int64_t windows, std::int64_t stride, std::int64_t before,
                         std::int64_t taps, std::int64_t dilation) {
    return number(extent) + number(before) + (number(windows) + 1) * number(stride) +
           (number(taps) + 1) * number(dilation);
  };
  double const rows = reach(s.height, s.out_height, s.stride_y, s.top, s.filter_height, s.dilation_y);
  double const columns = reach(s.width, s.out_width, s.stride_x, s.left, s.filter_width, s.dilation_x);
  double const images = (number(s.batch) * number(s.height) + rows) * (number(s.width) + columns) * number(s.channels);
  double const taps = number(s.filter_height + 1) * number(s.filter_width) * number(s.channels);
  double const pixels = (number(s.batch) + 1) * number(s.out_height) * number(s.out_width);
  double const out = number(s.out_channels);
  return std::max({rows, columns, images, taps, taps * out, pixels, pixels * out}) > most;
}

/// A product of one of the parts, and its kernels' parameter.
struct planned_convolution {
  product_plan plan;
  convolution_form form;

  planned_convolution(dtype element, product_form const& product, convolution_shape const& s,
                      std::optional<convolution_choices> const& choices)
      : plan{element, product}, form{{}, windows_of(s)} {
    if (choices) plan.cut(choices->side, choices->into_blocks);
    else choose_cut(plan);
    form.product = plan.form;
  }
};

/// The products that compute a part of a convolution: one, or one for each phase of the strides.
class convolution_products {
 public:
  convolution_products(convolution_part part, dtype element, convolution_shape const& s,
                       std::optional<convolution_choices> const& choices)
      : part_(part), element_(element), shape_(s), choices_(choices) {}

  /// Calls f(planned) for each product that has results.
  template <class F> void for_each(F const& f) const {
    if (part_ == convolution_part::images_gradient)
      rill::kernels::detail::for_each_phase(shape_, [&](auto const& y, auto const& x) { run(f, of_phase(y, x)); });
    else run(f, of_all());
  }

 private:
  template <class F> static void run(F const& f, planned_convolution const& each) {
    if (each.plan.results() > 0) f(each);
  }
  // `b_row`: 1 where B's reader takes steps of the depth.
  static product_form product_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t b_row) {
    product_form form{};
    form.m = m, form.n = n, form.k = k, form.a_column = 1, form.b_row = b_row;
    return form;
  }
  planned_convolution of_all() const {
    auto const& s = shape_;
    bool const by_pixels = part_ == convolution_part::result;
    return {element_,
            by_pixels ? product_of(s.pixels(), s.out_channels, s.elements(), s.out_channels)
                      : product_of(s.elements(), s.out_channels, s.pixels(), s.out_channels),
            s, choices_};
  }
  planned_convolution of_phase(rill::kernels::detail::phase const& y, rill::kernels::detail::phase const& x) const {
    auto const& s = shape_;
    auto const back = rill::kernels::detail::backward_shape(s, y, x);
    planned_convolution each{element_, product_of(back.pixels(), back.out_channels, back.elements(), 1), back,
                             choices_};
    auto const tap = s.channels * s.out_channels, line = s.width * s.channels;
    each.form.images = {(y.last_tap * s.filter_width + x.last_tap) * tap,
                        y.tap_step * s.filter_width * tap,
                        x.tap_step * tap,
                        y.first * line + x.first * s.channels,
                        s.height * line,
                        s.stride_y * line,
                        s.stride_x * s.channels};
    return each;
  }

  convolution_part part_;
  dtype element_;
  convolution_shape shape_;
  std::optional<convolution_choices> choices_;
};

/// A convolution, or a derivative of one, that is compiled for a GPU.
class bound_convolution {
 public:
  bound_convolution(gpu_device const& on, convolution_part part, convolution_numbers numbers,
                    convolution_shape const& s, std::optional<convolution_choices> const& choices)
      : on_(on), products_(part, numbers.element, s, choices) {
    products_.for_each([&](planned_convolution const& each) {
      scratch_ = std::max(scratch_, each.plan.scratch());
      auto& multiply = kernel_of(each.plan);
      bool const apart = each.plan.form.pieces > 1;
      if (!multiply) multiply = on.find(convolution_text(part, numbers, each.plan.side, apart), "convolve");
      if (!apart || add_) return;
      by_pixels_ = part == convolution_part::images_gradient;
      add_ = by_pixels_ ? on.find(add_pixels_text(numbers), "add_pixels")
                        : on.find(add_pieces_text(numbers.element), "add_pieces");
    });
  }

  /// Returns the bytes of scratch memory that it needs.
  std::size_t scratch() const { return scratch_; }
  void operator()(void* images, void* other, void* result, void* scratch) const {
    products_.for_each([&](planned_convolution const& each) {
      auto const& plan = each.plan;
      bool const apart = plan.form.pieces > 1;
      auto const blocks = std::min<std::int64_t>(blocks_of_threads(plan), plan.most_blocks);
      launch(on_, *kernel_of(plan), {static_cast<unsigned>(blocks), 256}, images, other, apart ? scratch : result,
             each.form);
      if (!apart) return;
      auto const how = on_.shape_for(static_cast<std::size_t>(plan.results()));
      if (by_pixels_) launch(on_, *add_, how, scratch, result, each.form, plan.pieces_of_part);
      else launch(on_, *add_, how, scratch, result, plan.results(), plan.form.pieces, plan.pieces_of_part);
    });
  }

 private:
  using function = std::shared_ptr<gpu_device::function const>;

  static std::size_t number_of(product_plan const& plan) {
    return (plan.side == product_plan::small_side ? 0u : 2u) + (plan.form.pieces > 1 ? 1u : 0u);
  }
  function& kernel_of(product_plan const& plan) { return multiply_[number_of(plan)]; }
  function const& kernel_of(product_plan const& plan) const { return multiply_[number_of(plan)]; }

  gpu_device const& on_;
  convolution_products products_;
  std::size_t scratch_ = 0;
  bool by_pixels_ = false;
  std::array<function, 4> multiply_;  // those that the products need
  function add_;
};

inline kernel kernel_of_products(gpu_device const& on, convolution_numbers numbers, convolution_node const& n,
                                 std::optional<convolution_choices> const& choices) {
  bound_convolution run(on, n.part, numbers, n.shape(), choices);
  auto const bytes = run.scratch();
  // A derivative with respect to images reads windows of the result.
  bool const backward = n.part == convolution_part::images_gradient;
  bool const forward = n.part == convolution_part::result;
  auto const images = backward ? n.y_at : n.x_at;
  auto const other = forward || backward ? n.filter_at : n.y_at;
  auto const result = forward ? n.y_at : backward ? n.x_at : n.filter_at;
  return kernel(
      [=](kernel_call const& call) {
        run(call.pointers[images], call.pointers[other], call.pointers[result], call.scratch());
      },
      bytes);
}

/// The derivative of a depthwise convolution with respect to its filter, in parts of the batch.
class bound_depthwise_filter {
 public:
  bound_depthwise_filter(gpu_device const& on, convolution_numbers numbers, convolution_shape const& s)
      : on_(on),
        windows_(windows_of(s)),
        size_(s.elements()),
        images_of_part_(rill::kernels::detail::images_of_part(s)),
        parts_(s.batch == 0 ? 1 : rill::kernels::detail::filter_parts(s)),
        run_(on.find(depthwise_text(convolution_part::filter_gradient, numbers, parts_ > 1), "convolve")) {
    if (parts_ == 1) return;
    add_ = on.find(add_pieces_text(numbers.element), "add_pieces");
    scratch_ = static_cast<std::size_t>(parts_ * size_) * sum_bytes(numbers.element);
  }

  std::size_t scratch() const { return scratch_; }
  void operator()(void* images, void* change, void* filter, void* scratch) const {
    launch(on_, *run_, blocks_for((size_ + 31) / 32 * parts_, 1, 256), images, change, add_ ? scratch : filter,
           windows_, images_of_part_);
    if (add_)
      launch(on_, *add_, on_.shape_for(static_cast<std::size_t>(size_)), scratch, filter, size_, parts_,
             std::int64_t{1});
  }

 private:
  gpu_device const& on_;
  window_form windows_;
  std::int64_t size_, images_of_part_, parts_;
  std::size_t scratch_ = 0;
  std::shared_ptr<gpu_device::function const> run_, add_;
};

inline kernel depthwise_kernel(gpu_device const& on, convolution_numbers numbers, convolution_node const& n) {
  auto const s = n.shape();
  if (n.part == convolution_part::filter_gradient) {
    bound_depthwise_filter run(on, numbers, s);
    auto const bytes = run.scratch();
    return kernel(
        [=](kernel_call const& call) {
          run(call.pointers[n.x_at], call.pointers[n.y_at], call.pointers[n.filter_at], call.scratch());
        },
        bytes);
  }
  auto const how =
      on.shape_for(static_cast<std::size_t>(elements((n.part == convolution_part::result ? n.y : n.x).shape())));
  auto const windows = windows_of(s);
  auto const run = on.find(depthwise_text(n.part, numbers, false), "convolve");
  if (n.part == convolution_part::result)
    return kernel([&on, n, how, windows, run](kernel_call const& call) {
      launch(on, *run, how, call.pointers[n.x_at], call.pointers[n.filter_at], call.pointers[n.y_at], windows);
    });
  auto const tap_row = s.stride_y / std::gcd(s.stride_y, s.dilation_y);
  auto const tap_column = s.stride_x / std::gcd(s.stride_x, s.dilation_x);
  return kernel([&on, n, how, windows, run, tap_row, tap_column](kernel_call const& call) {
    launch(on, *run, how, call.pointers[n.filter_at], call.pointers[n.y_at], call.pointers[n.x_at], windows, tap_row,
           tap_column);
  });
}

/// The operations that are convolutions.
struct convolution_operation {
  convolution_node (*node)(kernel_request const&);
  bool by_channels = false;
};
inline convolution_operation const* find_convolution(op_def const& op) {
  static std::unordered_map<op_def const*, convolution_operation> const all{
      {&definition<ops::conv2d_op>(), {result_node}},
      {&definition<ops::conv2d_input_gradient_op>(), {images_gradient_node}},
      {&definition<ops::conv2d_filter_gradient_op>(), {filter_gradient_node}},
      {&definition<ops::conv2d_transpose_op>(), {transposed_node}},
      {&definition<ops::depthwise_conv2d_op>(), {result_node, true}},
      {&definition<ops::depthwise_conv2d_input_gradient_op>(), {images_gradient_node, true}},
      {&definition<ops::depthwise_conv2d_filter_gradient_op>(), {filter_gradient_node, true}}};
  auto const at = all.find(&op);
  return at == all.end() ? nullptr : &at->second;
}

inline std::string_view counter_in_text(convolution_numbers numbers) { return numbers.wide ? "long" : "int"; }
inline std::string result_in_text(dtype element, bool apart) {
  std::string const in(name_in_text(element));
  return apart && size_of(element) != sum_bytes(element) ? "rill::text::sum_of<" + in + ">" : in;
}

}  // namespace detail

RILL_CUDA_INLINE std::string convolution_text(convolution_part part, convolution_numbers numbers, int side,
                                              bool apart) {
  std::string const in(name_in_text(numbers.element)), out = detail::result_in_text(numbers.element, apart);
  std::string call = "convolve<" + std::to_string(side) + ", ";
  if (part == convolution_part::filter_gradient) call = "convolve_for_filter<" + std::to_string(side) + ", ";
  if (part == convolution_part::images_gradient)
    call = "convolve_for_images<" + std::to_string(side) + (apart ? ", true, " : ", false, ");
  return "#include \"rill/cuda/text/convolution.cuh\"\n"
         "extern \"C\" __global__ __launch_bounds__" +
         std::string(side == product_plan::small_side ? "(256, 3)" : "(256, 2)") +
         " void convolve(rill::text::global<" + in + " const> images, rill::text::global<" + in +
         " const> other, rill::text::global<" + out +
         "> result, __grid_constant__ rill::cuda::convolution_form const form) {\n  rill::text::" + call +
         std::string(detail::counter_in_text(numbers)) + ", " + in + ", " + out +
         ">(images, other, result, form);\n}\n";
}

RILL_CUDA_INLINE std::string add_pixels_text(convolution_numbers numbers) {
  std::string const to(name_in_text(numbers.element));
  return "#include \"rill/cuda/text/convolution.cuh\"\n"
         "extern \"C\" __global__ void add_pixels(rill::text::global<rill::text::sum_of<" +
         to + "> const> sums, rill::text::global<" + to +
         "> images, __grid_constant__ rill::cuda::convolution_form const form, long pieces_of_part) {\n  "
         "rill::text::add_pixels<" +
         std::string(detail::counter_in_text(numbers)) + ", " + to + ">(sums, images, form, pieces_of_part);\n}\n";
}

RILL_CUDA_INLINE std::string depthwise_text(convolution_part part, convolution_numbers numbers, bool apart) {
  std::string const in(name_in_text(numbers.element)), out = detail::result_in_text(numbers.element, apart);
  std::string what = "convolve_channels<", types = in, parameters, arguments;
  if (part == convolution_part::images_gradient) {
    what = "convolve_channels_for_images<";
    parameters = ", long tap_row, long tap_column", arguments = ", tap_row, tap_column";
  } else if (part == convolution_part::filter_gradient) {
    what = "convolve_channels_for_filter<", types += ", " + out;
    parameters = ", long images_of_part", arguments = ", images_of_part";
  }
  return "#include \"rill/cuda/text/depthwise.cuh\"\n"
         "extern \"C\" __global__ void convolve(rill::text::global<" +
         in + " const> a, rill::text::global<" + in + " const> b, rill::text::global<" + out +
         "> result, __grid_constant__ rill::cuda::window_form const windows" + parameters +
         ") {\n  rill::text::" + what + std::string(detail::counter_in_text(numbers)) + ", " + types +
         ">(a, b, result, windows" + arguments + ");\n}\n";
}

RILL_CUDA_INLINE kernel convolution_kernel(kernel_request const& r, std::optional<convolution_choices> const& choices) {
  if (elements(r.outputs[0].shape()) == 0) return kernel([](kernel_call const&) {});
  auto const& what = *detail::find_convolution(*r.at.op);
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const n = what.node(r);
  bool const wide = choices ? choices->wide : detail::needs_wide_counters(n.shape());
  convolution_numbers const numbers{r.outputs[0].element, wide};
  return what.by_channels ? detail::depthwise_kernel(on, numbers, n)
                          : detail::kernel_of_products(on, numbers, n, choices);
}

RILL_CUDA_INLINE kernel_factory convolution_kernel_of(op_def const& op, std::span<type const> inputs) {
  // The first operands may only give extents; the last one has elements of the result's type.
  bool const floats = !inputs.empty() && dtypes::floats.contains(inputs.back().element);
  if (!floats || !detail::find_convolution(op)) return nullptr;
  return [](kernel_request const& r) { return convolution_kernel(r); };
}

}  // namespace rill::cuda
#endif
