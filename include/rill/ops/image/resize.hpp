// Images in another height and width.
#pragma once
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/image/images.hpp"
#include "rill/ops/math/cast.hpp"

#if RILL_DEFINITIONS || RILL_KERNELS
#include <cstring>

#include "rill/ops/image/resize_kernels.hpp"
#endif

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

/// Centres of pixels lie half a pixel from its edges, and images cover the same area whatever their number of pixels.
struct resizing_rules {
  static constexpr std::int64_t most = std::int64_t{1} << 24;  // so that positions are exact in 64 bits

  static constexpr type result(std::int64_t height, std::int64_t width, type const& x, checks expects = {}) {
    expects(height > 0 && width > 0 && height <= most && width <= most,
            "resize: the height and width of the result are 1 to 16777216");
    auto const y =
        resized(x, height, width, "resize: the image is not [height, width, channels] or [n, height, width, channels]",
                expects);
    for (std::size_t axis = 2; x.has_rank() && x.rank >= 3 && axis <= 3; ++axis) {
      auto const& extent = x[x.rank - axis];
      expects(!extent.known() || (extent.extent > 0 && extent.extent <= most),
              "resize: the height and width of an image are 1 to 16777216");
    }
    return y;
  }
#if RILL_DEFINITIONS
  /// Where the pixels of the result come from along an axis.
  static std::vector<rill::kernels::between> places(std::int64_t from, std::int64_t to, interpolation method) {
    std::vector<rill::kernels::between> all;
    for (std::int64_t i = 0; i < to; ++i) {
      if (method == interpolation::nearest) {
        auto const at = (2 * i + 1) * from / (2 * to);
        all.push_back({at, at, 0});
        continue;
      }
      auto const twice = (2 * i + 1) * from - to;  // 2 * to times the position among the centres
      auto const lower = twice < 0 ? 0 : twice / (2 * to);
      auto const upper = std::min(lower + 1, from - 1);
      auto const weight = static_cast<double>(twice - lower * 2 * to) / static_cast<double>(2 * to);
      all.push_back({lower, upper, twice < 0 || lower == upper ? 0 : weight});
    }
    return all;
  }
  /// Which of them come from each pixel of the image.
  static std::vector<rill::kernels::reach> reaches(std::vector<rill::kernels::between> const& places,
                                                   std::int64_t from) {
    std::vector<rill::kernels::reach> all(static_cast<std::size_t>(from));
    for (std::size_t i = 0; i < places.size(); ++i)
      for (auto at : {places[i].lower, places[i].upper}) {
        auto& r = all[static_cast<std::size_t>(at)];
        if (r.last == 0) r.first = static_cast<std::int64_t>(i);
        r.last = static_cast<std::int64_t>(i) + 1;
      }
    return all;
  }
#endif
};

/// What the two share that compute. Op's `run<T>` does it for elements of type T.
template <class Op> struct resizing_by_weights : resizing_rules {
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 8;
  using kernels = resize_table;
#if RILL_KERNELS
  template <dtypes Set> static constexpr resize_table make_kernels() {
    resize_table t;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) { t.run[d] = Op::template run<T>; });
    return t;
  }
#endif
#if RILL_DEFINITIONS
  /// The kernel between images of type x and resized ones of type y, one of which it computes.
  static kernel make(type const& x, type const& y, interpolation method, type const& result_of) {
    image_extents const from(x), to(y);
    auto rows = places(from.height, to.height, method), columns = places(from.width, to.width, method);
    auto from_rows = reaches(rows, from.height), from_columns = reaches(columns, from.width);
    auto const run = kernels_of<Op>(x.element).run[static_cast<std::size_t>(x.element)];
    if (rill::elements(result_of.shape()) == 0) return kernel([](kernel_call const&) {});
    return kernel([=, rows = std::move(rows), columns = std::move(columns), from_rows = std::move(from_rows),
                   from_columns = std::move(from_columns)](kernel_call const& call) {
      run({from.count, from.height, from.width, from.channels, to.height, to.width, rows.data(), columns.data(),
           from_rows.data(), from_columns.data()},
          call.in(call.inputs - 1), call.out(0), call.threads);
    });
  }
#endif
};

struct resize_nearest_op : resizing_rules {
  using library = void;
  static constexpr std::string_view name = "resize_nearest",
                                    doc = "images in another height and width, each pixel that of x at the same place";
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
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    image_extents const x(r.inputs[0]), y(r.outputs[0]);
    auto const pixel = static_cast<std::size_t>(x.channels) * size_of(r.inputs[0].element);
    if (pixel == 0) return kernel([](kernel_call const&) {});
    auto const method = interpolation::nearest;
    return kernel([=, rows = places(x.height, y.height, method),
                   columns = places(x.width, y.width, method)](kernel_call const& call) {
      call.threads(static_cast<std::size_t>(y.count * y.height), [&](std::size_t line) {
        auto const height = static_cast<std::size_t>(y.height), width = static_cast<std::size_t>(y.width);
        auto const row = static_cast<std::int64_t>(line / height) * x.height + rows[line % height].lower;
        auto const* const from = call.in<std::byte>(0) + static_cast<std::size_t>(row * x.width) * pixel;
        auto* to = call.out<std::byte>(0) + line * width * pixel;
        for (auto const& column : columns) {
          std::memcpy(to, from + static_cast<std::size_t>(column.lower) * pixel, pixel);
          to += pixel;
        }
      });
    });
  }
#endif
};

struct resize_bilinear_op : resizing_by_weights<resize_bilinear_op> {
  using library = void;
  static constexpr std::string_view name = "resize_bilinear",
                                    doc =
                                        "images in another height and width, each pixel mixed of the four around "
                                        "its centre";
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
#if RILL_KERNELS
  template <class T>
  static void run(rill::kernels::resizing const& how, void const* x, void* y, parallel const& threads) {
    rill::kernels::resize_linear(how, static_cast<T const*>(x), static_cast<T*>(y), threads);
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return make(r.inputs[0], r.outputs[0], interpolation::bilinear, r.outputs[0]);
  }
#endif
};

struct resize_gradient_op : resizing_by_weights<resize_gradient_op> {
  using library = void;
  static constexpr std::string_view name = "resize_gradient",
                                    doc =
                                        "the derivative of resized images with respect to them, from that of the "
                                        "result";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b01;
  using attributes = resized_by;
  static constexpr type infer(resized_by const& a, type const& x, type const& dy, checks expects = {}) {
    expects(elements.contains(dy.element), "resize_gradient: the derivative is not of floats");
    expects(a.method == interpolation::nearest || a.method == interpolation::bilinear,
            "resize_gradient: there is no such interpolation");
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
#if RILL_KERNELS
  template <class T>
  static void run(rill::kernels::resizing const& how, void const* dy, void* dx, parallel const& threads) {
    rill::kernels::resize_gradient(how, static_cast<T const*>(dy), static_cast<T*>(dx), threads);
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const method = decode<resized_by>(r.at.attributes).method;
    return make(r.outputs[0], r.inputs[1], method, r.outputs[0]);
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Images [height, width, channels] or [n, height, width, channels] in another height and width, each pixel that of x
/// which covers its centre: `resize_nearest<224, 224>(x)`.
template <std::int64_t Height, std::int64_t Width, operand X> auto resize_nearest(X x) {
  return record<ops::resize_nearest_op, ops::new_size{Height, Width}>(x);
}
/// The same for a size that only the run of the program knows.
inline value resize_nearest(value x, std::int64_t height, std::int64_t width) {
  return record_erased<ops::resize_nearest_op>(detail::graph_of(x), {height, width}, {x});
}

/// Images [height, width, channels] or [n, height, width, channels] in another height and width by linear interpolation
/// between the centres of pixels, as TensorFlow 2 resizes. Integers become float32.
inline value resize_bilinear(value x, std::int64_t height, std::int64_t width) {
  auto const y = dtypes::integers.contains(x.type().element) ? cast(x, dtype::float32) : x;
  return record_erased<ops::resize_bilinear_op>(detail::graph_of(x), {height, width}, {y});
}
/// The same for a size that the compiler knows: `resize_bilinear<224, 224>(x)`.
template <std::int64_t Height, std::int64_t Width, operand X> auto resize_bilinear(X x) {
  if constexpr (!typed<X>) return resize_bilinear(value(x), Height, Width);
  else if constexpr (dtypes::integers.contains(X::static_type.element))
    return record<ops::resize_bilinear_op, ops::new_size{Height, Width}>(cast<float>(x));
  else return record<ops::resize_bilinear_op, ops::new_size{Height, Width}>(x);
}
/// The derivative with respect to images x that were resized, from that of the result.
inline value resize_gradient(value x, value dy, ops::resized_by const& how) {
  return record_erased<ops::resize_gradient_op>(detail::graph_of(x), how, {x, dy});
}

}  // namespace rill
