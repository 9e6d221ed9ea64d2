// Convolutions as matrix products on a GPU.
#pragma once
#include <string>

#include "rill/cuda/convolution_node.hpp"
#include "rill/cuda/gpu_device.hpp"
#include "rill/cuda/kernel_operand.hpp"

namespace rill::cuda {

/// What a kernel may do in several ways that give the same bits.
struct convolution_choices {
  int side;          ///< of the tiles of a product
  bool into_blocks;  ///< whether the depth is cut into blocks, or into parts (product_plan::cut)
  bool wide;         ///< whether counters have 64 bits
};
/// Returns the text of a kernel `convolve`, which computes a part of y = x * filter as a matrix product, in tiles of
/// side * side elements. Its parameters are the addresses of the two operands (text/convolution.cuh says which they
/// are) and of the result, and a convolution_form. The result has the sums of each piece of the depth if `apart`. A
/// program may take the elements of a convolution's result, as in product_text.
std::string convolution_text(convolution_part part, convolution_numbers numbers, int side, bool apart,
                             kernel_ends const& ends = {});
/// Returns the text of a kernel `add_pixels`, which adds the pieces' sums up to the derivative with respect to images.
std::string add_pixels_text(convolution_numbers numbers);
}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "rill/cuda/launch.hpp"
#include "rill/device/kernel.hpp"

namespace rill::cuda {

namespace detail {

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
                    convolution_shape const& s, std::optional<convolution_choices> const& choices,
                    kernel_ends const& ends = {})
      : on_(on), products_(part, numbers.element, s, choices) {
    products_.for_each([&](planned_convolution const& each) {
      scratch_ = std::max(scratch_, each.plan.scratch());
      auto& multiply = kernel_of(each.plan);
      bool const apart = each.plan.form.pieces > 1;
      if (!multiply) multiply = on.find(convolution_text(part, numbers, each.plan.side, apart, ends), "convolve");
      if (!apart || add_) return;
      by_pixels_ = part == convolution_part::images_gradient;
      add_ = by_pixels_ ? on.find(add_pixels_text(numbers), "add_pixels")
                        : on.find(add_pieces_text(numbers.element, ends), "add_pieces");
    });
  }

  /// Returns the bytes of scratch memory that it needs.
  std::size_t scratch() const { return scratch_; }
  void operator()(void const* images, void const* other, void* result, void* scratch) const {
    (*this)(images, other, result, result, scratch);
  }
  /// The same with a program after the convolution: `to` is its parameter, and `result` the address of one of its
  /// outputs.
  void operator()(void const* images, void const* other, void* result, kernel_argument to, void* scratch) const {
    products_.for_each([&](planned_convolution const& each) {
      auto plan = each.plan;
      auto form = each.form;
      bool const apart = plan.form.pieces > 1;
      auto const blocks = std::min<std::int64_t>(blocks_of_threads(plan), plan.most_blocks);
      void* all[] = {&images, &other, apart ? &scratch : &result, &form, to.at()};  // the last one if it is a program
      on_.launch(*kernel_of(plan), {static_cast<unsigned>(blocks), 256}, all);
      if (!apart) return;
      auto const how = on_.shape_for(static_cast<std::size_t>(plan.results()));
      if (by_pixels_) return launch(on_, *add_, how, scratch, result, form, plan.pieces_of_part);
      auto results = plan.results();
      void* sums[] = {&scratch, to.at(), &results, &plan.form.pieces, &plan.pieces_of_part};
      on_.launch(*add_, how, sums);
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
  bool const of_filter = n.part == convolution_part::filter_gradient;
  auto const& images = backward ? n.y : n.x;
  auto const& other = of_filter ? n.y : n.filter;
  auto const& result = backward ? n.x : of_filter ? n.filter : n.y;
  return kernel([=](kernel_call const& call) { run(images.in(call), other.in(call), result.in(call), call.scratch()); },
                bytes);
}

}  // namespace detail

RILL_CUDA_INLINE std::string convolution_text(convolution_part part, convolution_numbers numbers, int side, bool apart,
                                              kernel_ends const& ends) {
  auto const in = name_in_text(numbers.element), out = detail::result_in_text(numbers.element, apart);
  bool const backward = part == convolution_part::images_gradient;
  bool const chosen = backward ? apart : part == convolution_part::result;  // `Apart` or `Pixels`
  auto const call =
      (backward ? "convolve_for_images<" : "convolve<") + std::to_string(side) + (chosen ? ", true, " : ", false, ");
  auto const take = taken_by(ends, in, "result", apart);
  return head_with("convolution.cuh", take.definitions) +
         kernel_in_text("convolve(rill::text::global<" + in + " const> images, rill::text::global<" + in +
                            " const> other, rill::text::global<" + out +
                            "> result, __grid_constant__ rill::cuda::convolution_form const form" + take.parameter +
                            ")",
                        "rill::text::" + call + signed_counter_in_text(numbers.wide) + ", " + in + ", " + out +
                            ">(images, other, result, form" + take.argument + ");",
                        side == product_plan::small_side ? "(256, 3)" : "(256, 2)");
}

RILL_CUDA_INLINE std::string add_pixels_text(convolution_numbers numbers) {
  auto const to = name_in_text(numbers.element);
  return "#include \"rill/cuda/text/convolution.cuh\"\n" +
         kernel_in_text("add_pixels(rill::text::global<rill::text::sum_of<" + to +
                            "> const> sums, rill::text::global<" + to +
                            "> images, __grid_constant__ rill::cuda::convolution_form const form, long pieces_of_part)",
                        "rill::text::add_pixels<" + signed_counter_in_text(numbers.wide) + ", " + to +
                            ">(sums, images, form, pieces_of_part);");
}

}  // namespace rill::cuda
#endif
