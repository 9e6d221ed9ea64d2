// A part of each image, at a place that the step decides: by a value, or by chance.
#pragma once
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/index.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/array/slice.hpp"
#include "rill/ops/image/images.hpp"
#include "rill/ops/random/uniform.hpp"

#if RILL_DEFINITIONS
#include <cstring>
#endif

namespace rill::ops {

/// The height and width of the part.
struct cut {
  std::int64_t height = 1, width = 1;
  static constexpr auto fields(auto const& take) {
    return take(field{"height", &cut::height}, field{"width", &cut::width});
  }

  constexpr type of(type const& x, type const& begin, checks expects = {}) const {
    expects(height > 0 && width > 0, "crop: the height and width of the part are positive");
    expects(dtypes::indices.contains(begin.element), "crop: where the part begins is neither int32 nor int64");
    auto const y = resized(x, height, width,
                           "crop: the image is not [height, width, channels] or [n, height, width, channels]", expects);
    if (!x.has_rank() || x.rank < 3) return y;
    expects(!x[x.rank - 3u].known() || x[x.rank - 3u].extent >= height, "crop: the part is higher than the image");
    expects(!x[x.rank - 2u].known() || x[x.rank - 2u].extent >= width, "crop: the part is wider than the image");
    type places{begin.element};
    if (x.rank == 4) places.push_back(x[0]);
    places.push_back(2);
    expects(accepts(places, begin) || accepts(begin, places),
            "crop: where the parts begin is not two numbers, row and column, for each image");
    return y;
  }
};

#if RILL_DEFINITIONS
/// Copies rows of parts, out of images or into them.
class part_copy {
 public:
  part_copy(type const& images, type const& parts, type const& begin)
      : image_(images), part_(parts), read_(begin, INT64_MAX), element_(images.element) {}

  /// Calls f(image's bytes from the part's row on, part's row, bytes) for all rows, by threads.
  template <class F> void operator()(void const* begin, parallel const& threads, F const& f) const {
    auto const pixel = static_cast<std::size_t>(image_.channels) * size_of(element_);
    if (pixel == 0) return;
    threads(static_cast<std::size_t>(part_.count * part_.height), [&](std::size_t line) {
      auto const i = line / static_cast<std::size_t>(part_.height);
      auto const y = place(read_.at(begin, 2 * i), image_.height - part_.height) +
                     static_cast<std::int64_t>(line % static_cast<std::size_t>(part_.height));
      auto const x = place(read_.at(begin, 2 * i + 1), image_.width - part_.width);
      auto const at = (static_cast<std::int64_t>(i) * image_.height + y) * image_.width + x;
      auto const bytes = static_cast<std::size_t>(part_.width) * pixel;
      f(static_cast<std::size_t>(at) * pixel, line * bytes, bytes);
    });
  }

 private:
  /// Places count round, 0 following on the last.
  static std::int64_t place(std::int64_t begin, std::int64_t last) {
    auto const at = begin % (last + 1);
    return at < 0 ? at + last + 1 : at;
  }

  image_extents image_, part_;
  index_reader read_;
  dtype element_;
};
#endif

struct crop_op {
  using library = void;
  static constexpr std::string_view name = "crop",
                                    doc =
                                        "a part of each image, at a row and a column that are values; places count "
                                        "round, so that -1 is the last and any number is one";
  static constexpr std::int8_t arity = 2;
  static constexpr dtypes elements = dtypes::numeric_or_bool;
  using attributes = cut;
  static constexpr type infer(cut const& a, type const& x, type const& begin, checks expects = {}) {
    expects(elements.contains(x.element), "crop: strings are no pixels");
    return a.of(x, begin, expects);
  }
  static cost work(cut const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = crop_gradient(V(r.in(0)), r.in(1), r.dy(), decode<cut>(r.origin().attributes));
    return all;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    part_copy const copy(r.inputs[0], r.outputs[0], r.inputs[1]);
    return kernel([copy](kernel_call const& call) {
      copy(call.in(1), call.threads, [&](std::size_t image, std::size_t part, std::size_t bytes) {
        std::memcpy(call.out<std::byte>(0) + part, call.in<std::byte>(0) + image, bytes);
      });
    });
  }
#endif
};

struct crop_gradient_op {
  using library = void;
  static constexpr std::string_view name = "crop_gradient",
                                    doc = "zeros of the images' extents, with each part where it was taken from";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b001;
  static constexpr dtypes elements = dtypes::numeric_or_bool;
  using attributes = cut;
  static constexpr type infer(cut const& a, type const& x, type const& begin, type const& dy, checks expects = {}) {
    expects(elements.contains(dy.element), "crop_gradient: strings are no pixels");
    expects(accepts(a.of(x, begin, expects).with(dy.element), dy),
            "crop_gradient: the parts are not of the extents of a crop");
    return x.with(dy.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(3);
    auto const a = decode<cut>(r.origin().attributes);
    if (r.wanted[2]) all[2] = crop(V(r.dy()), r.in(1), a.height, a.width);
    return all;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    part_copy const copy(r.outputs[0], r.inputs[2], r.inputs[1]);
    auto const size = r.outputs[0].bytes();
    return kernel([copy, size](kernel_call const& call) {
      if (size != 0) std::memset(call.out(0), 0, size);
      copy(call.in(1), call.threads, [&](std::size_t image, std::size_t part, std::size_t bytes) {
        std::memcpy(call.out<std::byte>(0) + image, call.in<std::byte>(2) + part, bytes);
      });
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// A part of each image [height, width, channels] or [n, height, width, channels]; `begin` holds its first row and
/// column, [2] or [n, 2], int32 or int64. Places count round: -1 is the last. For a place that is known when the graph
/// is recorded there is `slice`.
template <std::int64_t Height, std::int64_t Width, operand X, operand B> auto crop(X x, B begin) {
  return record<ops::crop_op, ops::cut{Height, Width}>(x, begin);
}
/// The same for a size that only the run of the program knows.
inline value crop(value x, value begin, std::int64_t height, std::int64_t width) {
  return record_erased<ops::crop_op>(detail::graph_of(x), {height, width}, {x, begin});
}
/// Zeros of the extents of images x, with each part dy where `crop` took it from.
inline value crop_gradient(value x, value begin, value dy, ops::cut const& how) {
  return record_erased<ops::crop_gradient_op>(detail::graph_of(x), how, {x, begin, dy});
}

namespace detail {

/// A number for each image of x, from `low` to below `high`, beside its pixels: [n, 1, 1, 1], or [1, 1, 1].
template <number N> value drawn_for_each(value x, dtype element, N low, N high) {
  auto& g = graph_of(x);
  auto const& t = x.type();
  expects(t.has_rank() && (t.rank == 3 || t.rank == 4),
          "a random change of images asks for [height, width, channels] or [n, height, width, channels]");
  if (t.rank == 3) return uniform(g, type(element, {1, 1, 1}), low, high);
  if (t[0].known()) return uniform(g, type(element, {t[0], 1, 1, 1}), low, high);
  auto const one_pixel = slice(x, extents{0, 0, 0, 0}, extents{-1, 1, 1, 1});
  return record_erased<ops::uniform_op>(g, uniform_attributes(g, type(element, {unknown, 1, 1, 1}), low, high),
                                        {one_pixel});
}

/// Row and column, any of int64 from 0 on, for each image of x.
inline value drawn_places(value x) {
  auto const most = std::int64_t{1} << 62;  // far above any extent, so that no place is likelier by much
  if (x.type().has_rank() && x.type().rank == 3)
    return uniform(graph_of(x), of<std::int64_t, 2>, std::int64_t{0}, most);
  auto const one = [&] { return reshape(drawn_for_each(x, dtype::int64, std::int64_t{0}, most), extents{-1, 1}); };
  return concat({one(), one()}, 1);
}

}  // namespace detail

/// A part of each image, each at a place of its own that is drawn anew in every step: `random_crop<24, 24>(x)`.
template <std::int64_t Height, std::int64_t Width, operand X> auto random_crop(X x) {
  auto const begin = detail::drawn_places(x);
  if constexpr (!typed<X>) return crop(x, begin, Height, Width);
  else if constexpr (X::static_type.rank == 3) return crop<Height, Width>(x, as<of<std::int64_t, 2>>(begin));
  else return crop<Height, Width>(x, as<of<std::int64_t, unknown, 2>>(begin));
}
/// The same for a size that only the run of the program knows.
inline value random_crop(value x, std::int64_t height, std::int64_t width) {
  return crop(x, detail::drawn_places(x), height, width);
}

}  // namespace rill
