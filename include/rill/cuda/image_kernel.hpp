// Resizes and crops of images, and their derivatives, as kernels of a GPU.
#pragma once
#include <cstddef>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Return the texts of a kernel `resize`, which resizes images: it copies elements of `bytes` bytes, or mixes elements
/// of a type. Sizes and positions are 64 bits wide if `wide`, else 32.
std::string resize_nearest_text(std::size_t bytes, bool wide);
std::string resize_bilinear_text(dtype element, bool wide);
/// Returns the text of the derivative's kernels: `prepare` finds which pixels each pixel has a share in, and the
/// shares; `resize` adds them up.
std::string resize_gradient_text(dtype element, bool wide);
/// Return the texts of a kernel `cut`, which copies a part out of images, or back into zeros. An element has `bytes`
/// bytes, at most 8; `position` is the type of the row and the column at which the part begins.
std::string crop_text(std::size_t bytes, dtype position, bool wide);
std::string crop_gradient_text(std::size_t bytes, dtype position, bool wide);

/// Return the kernels of these operations.
kernel resize_nearest_kernel(kernel_request const& r);
kernel resize_bilinear_kernel(kernel_request const& r);
kernel resize_gradient_kernel(kernel_request const& r);
kernel crop_kernel(kernel_request const& r);
kernel crop_gradient_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/text/image_form.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/image/crop.hpp"
#include "rill/ops/image/resize.hpp"

namespace rill::cuda {

namespace detail {

/// A kernel over images. Its last parameters are the number of results and a form, image_windows or image_change, with
/// numbers of 32 bits if they are small enough.
template <class Form> class bound_images {
 public:
  /// Whether numbers up to `most` need 64 bits in the kernel.
  static bool is_wide(std::int64_t most) { return most > INT32_MAX / 2; }

  bound_images(gpu_device const& on, std::string const& text, char const* name, std::int64_t count, Form const& form,
               bool wide)
      : on_(on), count_(count), form_(form), wide_(wide), run_(on.find(text, name)) {}

  template <class... A> void operator()(A... addresses) const {
    auto const how = on_.shape_for(static_cast<std::size_t>(count_));
    if (wide_) launch(on_, *run_, how, addresses..., count_, form_);
    else launch(on_, *run_, how, addresses..., static_cast<std::int32_t>(count_), form_.template as<std::int32_t>());
  }

 private:
  gpu_device const& on_;
  std::int64_t count_;
  Form form_;
  bool wide_;
  std::shared_ptr<gpu_device::function const> run_;
};

inline images<std::int64_t> images_of(type const& t) {
  ops::image_extents const e(t);
  return {e.height, e.width, e.channels};
}
inline std::int64_t larger_count(type const& x, type const& y) {
  return std::max(elements(x.shape()), elements(y.shape()));
}

/// Returns the text of a kernel over images whose elements have the type `element`; `parameters` are its first ones.
inline std::string images_text(std::string const& kernel, std::string const& element, std::string const& parameters,
                               std::string const& statement, bool wide) {
  return text_head("images.cuh") + "using counter = " + signed_counter_in_text(wide) + ";\nusing element = " + element +
         ";\n" + kernel_in_text(kernel + "(" + parameters + ", counter n, image_change<counter> c)", statement);
}

inline constexpr char from_to[] = "global<element const> x, global<element> y";

using image_change_of_numbers = image_change<std::int64_t>;
using bound_change = bound_images<image_change_of_numbers>;

/// Whether a resize needs numbers of 64 bits: positions are quotients of products of extents. The quotient of floats
/// in `between` needs denominators up to 2^24.
inline bool is_wide(image_change_of_numbers const& c, std::int64_t count) {
  auto const along = [](std::int64_t from, std::int64_t to) {
    constexpr std::int64_t most_to = 1 << 23;
    return to > most_to ? INT64_MAX : 2 * from * to;
  };
  return bound_change::is_wide(std::max({count, along(c.x.height, c.y.height), along(c.x.width, c.y.width)}));
}

/// Returns the kernel of a resize whose text is text(of, wide).
template <class Of> kernel resize_kernel(kernel_request const& r, std::string (*text)(Of, bool), Of of) {
  auto const &x = r.inputs[0], &y = r.outputs[0];
  auto const count = elements(y.shape());
  if (count == 0) return empty_kernel();
  image_change_of_numbers const change{images_of(x), images_of(y)};
  bool const wide = is_wide(change, larger_count(x, y));
  bound_change run(static_cast<gpu_device const&>(*r.on), text(of, wide), "resize", count, change, wide);
  return kernel([run = std::move(run)](kernel_call const& call) { run(call.pointers[0], call.pointers[1]); });
}

/// A crop of images of type x to images of type y.
struct crop_shape {
  image_change_of_numbers change;
  std::int64_t count;
  std::size_t bytes;  // of a word: 16 bytes are two
  bool wide;

  crop_shape(type const& x, type const& y, type const& result)
      : change{images_of(x), images_of(y)}, count(elements(result.shape())), bytes(size_of(x.element)) {
    auto most = larger_count(x, y);
    if (bytes == 16) {
      bytes = 8, count *= 2, most *= 2;
      change.x.channels *= 2, change.y.channels *= 2;
    }
    wide = bound_change::is_wide(most);
  }
  bound_change kernel_of(kernel_request const& r, std::string (*text)(std::size_t, dtype, bool)) const {
    return bound_change(static_cast<gpu_device const&>(*r.on), text(bytes, r.inputs[1].element, wide), "cut", count,
                        change, wide);
  }
};

}  // namespace detail

RILL_CUDA_INLINE std::string resize_nearest_text(std::size_t bytes, bool wide) {
  return detail::images_text("resize", word_in_text(bytes), detail::from_to, "resize_nearest(x, y, n, c);", wide);
}
RILL_CUDA_INLINE std::string resize_bilinear_text(dtype element, bool wide) {
  return detail::images_text("resize", name_in_text(element), detail::from_to, "resize_bilinear(x, y, n, c);", wide);
}
RILL_CUDA_INLINE std::string resize_gradient_text(dtype element, bool wide) {
  std::string const tables = "global<pixels_reached> reached, global<shares<mixed_as<element>>> all";
  return detail::images_text("resize", name_in_text(element), tables + ", " + detail::from_to,
                             "resize_gradient<element, counter>(reached, all, x, y, n, c);", wide) +
         kernel_in_text("prepare(" + tables + ", image_change<long> c, int linear)",
                        "find_shares(reached, all, c, linear != 0);");
}
RILL_CUDA_INLINE std::string crop_text(std::size_t bytes, dtype position, bool wide) {
  return detail::images_text(
      "cut", word_in_text(bytes),
      "global<element const> x, global<" + name_in_text(position) + " const> begin, global<element> y",
      "crop(x, begin, y, n, c);", wide);
}
RILL_CUDA_INLINE std::string crop_gradient_text(std::size_t bytes, dtype position, bool wide) {
  return detail::images_text("cut", word_in_text(bytes),
                             "global<" + name_in_text(position) + " const> begin, " + detail::from_to,
                             "crop_gradient(begin, x, y, n, c);", wide);
}

RILL_CUDA_INLINE kernel resize_nearest_kernel(kernel_request const& r) {
  return detail::resize_kernel(r, resize_nearest_text, size_of(r.inputs[0].element));
}
RILL_CUDA_INLINE kernel resize_bilinear_kernel(kernel_request const& r) {
  return detail::resize_kernel(r, resize_bilinear_text, r.inputs[0].element);
}

RILL_CUDA_INLINE kernel resize_gradient_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const &dy = r.inputs[1], &dx = r.outputs[0];
  auto const count = elements(dx.shape());
  if (count == 0) return empty_kernel();
  detail::image_change_of_numbers const change{detail::images_of(dx), detail::images_of(dy)};
  bool const wide = detail::is_wide(change, detail::larger_count(dx, dy));
  auto const text = resize_gradient_text(dx.element, wide);
  auto const prepare = on.find(text, "prepare");
  auto const linear =
      static_cast<std::int32_t>(decode<ops::resized_by>(r.at.attributes).method == ops::interpolation::bilinear);
  // Two ints for each pixel of an axis of dx, then the shares for those of dy.
  auto const reached = static_cast<std::size_t>(change.x.height + change.x.width) * 8,
             shares =
                 static_cast<std::size_t>(change.y.height + change.y.width) * (dx.element == dtype::float64 ? 24 : 12);
  auto const how = on.shape_for(std::max(reached, shares) / 8);
  return kernel(
      [=, &on, run = detail::bound_change(on, text, "resize", count, change, wide)](kernel_call const& call) {
        void* const first = call.scratch();
        void* const second = static_cast<std::byte*>(first) + reached;
        launch(on, *prepare, how, first, second, change, linear);
        run(first, second, call.pointers[1], call.pointers[2]);
      },
      reached + shares);
}

RILL_CUDA_INLINE kernel crop_kernel(kernel_request const& r) {
  detail::crop_shape const s(r.inputs[0], r.outputs[0], r.outputs[0]);
  if (s.count == 0) return empty_kernel();
  return kernel([run = s.kernel_of(r, crop_text)](kernel_call const& call) {
    run(call.pointers[0], call.pointers[1], call.pointers[2]);
  });
}
RILL_CUDA_INLINE kernel crop_gradient_kernel(kernel_request const& r) {
  detail::crop_shape const s(r.outputs[0], r.inputs[2], r.outputs[0]);
  if (s.count == 0) return empty_kernel();
  return kernel([run = s.kernel_of(r, crop_gradient_text)](kernel_call const& call) {
    run(call.pointers[1], call.pointers[2], call.pointers[3]);
  });
}

}  // namespace rill::cuda
#endif
