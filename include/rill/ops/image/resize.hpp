// Resizes images.
#pragma once
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/image/images.hpp"
#include "rill/ops/math/cast.hpp"

namespace rill::kernels {
struct resizing;
}

namespace rill::ops {

enum class interpolation : std::uint8_t { nearest, bilinear };

/// The height and width of the result.
struct new_size {
  std::int64_t height = 1, width = 1;
  static constexpr auto fields(auto const& take) {
    return take(field{"height", &new_size::height}, field{"width", &new_size::width});
  }
};

/// The same, and how the image was made, for the gradient.
struct resized_by {
  std::int64_t height = 1, width = 1;
  interpolation method = interpolation::nearest;
  static constexpr auto fields(auto const& take) {
    return take(field{"height", &resized_by::height}, field{"width", &resized_by::width},
                field{"method", &resized_by::method});
  }
};

struct resize_table {
  std::array<void (*)(rill::kernels::resizing const&, void const* from, void* to, parallel const&), dtype_count> run{};
};

/// Pixel centres lie half a pixel from the edges; images cover the same area regardless of their number of pixels.
struct resizing_rules {
  static constexpr std::int64_t most = std::int64_t{1} << 24;  // so that positions are exact in 64 bits

  static constexpr type result(std::int64_t height, std::int64_t width, type const& x, checks expects = {}) {
    expects(height > 0 && width > 0 && height <= most && width <= most,
            "resize: the height and width of the result must be from 1 to 16777216");
    auto const y =
        resized(x, height, width, "resize: the image is not [height, width, channels] or [n, height, width, channels]",
                expects);
    for (std::size_t axis = 2; x.has_rank() && x.rank >= 3 && axis <= 3; ++axis) {
      auto const& extent = x[x.rank - axis];
      expects(!extent.known() || (extent.extent > 0 && extent.extent <= most),
              "resize: the height and width of an image must be from 1 to 16777216");
    }
    return y;
  }
};

/// What bilinear resizing and the derivative share. `Op::run<T>` computes them for elements of type T.
template <class Op> struct resizing_by_weights : resizing_rules {
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 8;
  using kernels = resize_table;
  template <dtypes Set> static constexpr resize_table make_kernels();
  /// Returns the kernel that computes resized images of type y from images of type x, or the reverse.
  static kernel make(type const& x, type const& y, interpolation method, type const& result_of);
};

struct resize_nearest_op : resizing_rules {
  using library = void;
  static constexpr std::string_view name = "resize_nearest",
                                    doc = "images of another height and width by nearest-neighbor interpolation";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::reals | dtype::boolean;
  using attributes = new_size;
  static constexpr type infer(new_size const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "resize_nearest: pixels are real numbers or bools");
    return result(a.height, a.width, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<new_size>(r.origin().attributes);
    return {resize_gradient(V(r.in(0)), r.dy(), {a.height, a.width, interpolation::nearest})};
  }
  static kernel cpu(kernel_request const& r);
};

struct resize_bilinear_op : resizing_by_weights<resize_bilinear_op> {
  using library = void;
  static constexpr std::string_view name = "resize_bilinear",
                                    doc = "images of another height and width by bilinear interpolation";
  static constexpr std::int8_t arity = 1;
  using attributes = new_size;
  static constexpr type infer(new_size const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "resize_bilinear: the pixels are not floats; cast them");
    return result(a.height, a.width, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<new_size>(r.origin().attributes);
    return {resize_gradient(V(r.in(0)), r.dy(), {a.height, a.width, interpolation::bilinear})};
  }
  template <class T>
  static void run(rill::kernels::resizing const& how, void const* x, void* y, parallel const& threads);
  static kernel cpu(kernel_request const& r);
};

struct resize_gradient_op : resizing_by_weights<resize_gradient_op> {
  using library = void;
  static constexpr std::string_view
      name = "resize_gradient",
      doc = "the derivative of a resize with respect to the images, from the derivative of the result";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b01;
  using attributes = resized_by;
  static constexpr type infer(resized_by const& a, type const& x, type const& dy, checks expects = {}) {
    expects(elements.contains(dy.element), "resize_gradient: the derivative is not of floats");
    expects(a.method == interpolation::nearest || a.method == interpolation::bilinear,
            "resize_gradient: unknown interpolation (nearest, bilinear)");
    expects(accepts(result(a.height, a.width, x, expects).with(dy.element), dy),
            "resize_gradient: the derivative is not of the resized images' extents");
    return x.with(dy.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<resized_by>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (!r.wanted[1]) return all;
    all[1] = a.method == interpolation::nearest ? resize_nearest(V(r.dy()), a.height, a.width)
                                                : resize_bilinear(V(r.dy()), a.height, a.width);
    return all;
  }
  template <class T>
  static void run(rill::kernels::resizing const& how, void const* dy, void* dx, parallel const& threads);
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns images [height, width, channels] or [n, height, width, channels] resized to another height and width; each
/// pixel is the pixel of x that covers its centre: `resize_nearest<224, 224>(x)`.
template <std::int64_t Height, std::int64_t Width, operand X> auto resize_nearest(X x) {
  return record<ops::resize_nearest_op, ops::new_size{Height, Width}>(x);
}
/// Returns the same for a size known only at run time.
inline value resize_nearest(value x, std::int64_t height, std::int64_t width) {
  return record_erased<ops::resize_nearest_op>(detail::graph_of(x), {height, width}, {x});
}

/// Returns images [height, width, channels] or [n, height, width, channels] resized to another height and width by
/// bilinear interpolation between pixel centres, as in TensorFlow 2. Integers become float32.
inline value resize_bilinear(value x, std::int64_t height, std::int64_t width) {
  auto const y = dtypes::integers.contains(x.type().element) ? cast(x, dtype::float32) : x;
  return record_erased<ops::resize_bilinear_op>(detail::graph_of(x), {height, width}, {y});
}
/// Returns the same for a static size: `resize_bilinear<224, 224>(x)`.
template <std::int64_t Height, std::int64_t Width, operand X> auto resize_bilinear(X x) {
  if constexpr (!typed<X>) return resize_bilinear(value(x), Height, Width);
  else if constexpr (dtypes::integers.contains(X::static_type.element))
    return record<ops::resize_bilinear_op, ops::new_size{Height, Width}>(cast<float>(x));
  else return record<ops::resize_bilinear_op, ops::new_size{Height, Width}>(x);
}
/// Returns the derivative of resized images with respect to x, from the derivative of the result.
inline value resize_gradient(value x, value dy, ops::resized_by const& how) {
  return record_erased<ops::resize_gradient_op>(detail::graph_of(x), how, {x, dy});
}

}  // namespace rill

#include "rill/ops/image/resize.ipp"
