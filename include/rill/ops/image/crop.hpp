// Crops images at positions that are values of the step, or random.
#pragma once
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/index.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/array/slice.hpp"
#include "rill/ops/image/images.hpp"
#include "rill/ops/random/uniform.hpp"

namespace rill::ops {

/// The height and width of the part.
struct cut {
  std::int64_t height = 1, width = 1;
  static constexpr auto fields(auto const& take) {
    return take(field{"height", &cut::height}, field{"width", &cut::width});
  }

  constexpr type of(type const& x, type const& begin, checks expects = {}) const {
    expects(height > 0 && width > 0, "crop: the height and width of the part must be positive");
    expects(dtypes::indices.contains(begin.element), "crop: the position of the part is neither int32 nor int64");
    auto const y = resized(x, height, width,
                           "crop: the image is not [height, width, channels] or [n, height, width, channels]", expects);
    if (!x.has_rank() || x.rank < 3) return y;
    expects(!x[x.rank - 3u].known() || x[x.rank - 3u].extent >= height, "crop: the part is higher than the image");
    expects(!x[x.rank - 2u].known() || x[x.rank - 2u].extent >= width, "crop: the part is wider than the image");
    type places{begin.element};
    if (x.rank == 4) places.push_back(x[0]);
    places.push_back(2);
    expects(accepts(places, begin) || accepts(begin, places),
            "crop: the positions are not a row and a column for each image");
    return y;
  }
};

struct crop_op {
  using library = void;
  static constexpr std::string_view
      name = "crop",
      doc = "a part of each image that starts at a given row and column, which wrap round: -1 is the last possible one";
  static constexpr std::int8_t arity = 2;
  static constexpr dtypes elements = dtypes::numeric_or_bool;
  using attributes = cut;
  static constexpr type infer(cut const& a, type const& x, type const& begin, checks expects = {}) {
    expects(elements.contains(x.element), "crop: the images are of strings");
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
  static kernel cpu(kernel_request const& r);
};

struct crop_gradient_op {
  using library = void;
  static constexpr std::string_view name = "crop_gradient",
                                    doc = "zeros of the images' extents, with each part at its position";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b001;
  static constexpr dtypes elements = dtypes::numeric_or_bool;
  using attributes = cut;
  static constexpr type infer(cut const& a, type const& x, type const& begin, type const& dy, checks expects = {}) {
    expects(elements.contains(dy.element), "crop_gradient: the parts are of strings");
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
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns a part of each image [height, width, channels] or [n, height, width, channels]; `begin` holds its first row
/// and column, [2] or [n, 2], int32 or int64. Positions wrap round: -1 is the last possible one. For a position known
/// when the graph is recorded, use `slice`.
template <std::int64_t Height, std::int64_t Width, operand X, operand B> auto crop(X x, B begin) {
  return record<ops::crop_op, ops::cut{Height, Width}>(x, begin);
}
/// Returns the same for a size known only at run time.
inline value crop(value x, value begin, std::int64_t height, std::int64_t width) {
  return record_erased<ops::crop_op>(detail::graph_of(x), {height, width}, {x, begin});
}
/// Returns zeros of x's extents with each part dy at the position of its crop.
inline value crop_gradient(value x, value begin, value dy, ops::cut const& how) {
  return record_erased<ops::crop_gradient_op>(detail::graph_of(x), how, {x, begin, dy});
}

namespace detail {

/// Returns a random number in [low, high) for each image of x, with axes that broadcast to the pixels: [n, 1, 1, 1], or
/// [1, 1, 1].
template <number N> value drawn_for_each(value x, dtype element, N low, N high) {
  auto& g = graph_of(x);
  auto const& t = x.type();
  expects(t.has_rank() && (t.rank == 3 || t.rank == 4),
          "random changes of images need [height, width, channels] or [n, height, width, channels]");
  if (t.rank == 3) return uniform(g, type(element, {1, 1, 1}), low, high);
  if (t[0].known()) return uniform(g, type(element, {t[0], 1, 1, 1}), low, high);
  auto const one_pixel = slice(x, extents{0, 0, 0, 0}, extents{-1, 1, 1, 1});
  return record_erased<ops::uniform_op>(g, uniform_attributes(g, type(element, {unknown, 1, 1, 1}), low, high),
                                        {one_pixel});
}

/// Returns a random row and column for each image of x, nonnegative int64 numbers.
inline value drawn_places(value x) try {
  auto const most = std::int64_t{1} << 62;  // far above any extent, so that all positions are almost equally likely
  if (x.type().has_rank() && x.type().rank == 3)
    return uniform(graph_of(x), of<std::int64_t, 2>, std::int64_t{0}, most);
  auto const one = [&] { return reshape(drawn_for_each(x, dtype::int64, std::int64_t{0}, most), extents{-1, 1}); };
  return concat({one(), one()}, 1);
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// Returns a part of each image at a random position, drawn anew in every step: `random_crop<24, 24>(x)`.
template <std::int64_t Height, std::int64_t Width, operand X> auto random_crop(X x) {
  auto const begin = detail::drawn_places(x);
  if constexpr (!typed<X>) return crop(x, begin, Height, Width);
  else if constexpr (X::static_type.rank == 3) return crop<Height, Width>(x, as<of<std::int64_t, 2>>(begin));
  else return crop<Height, Width>(x, as<of<std::int64_t, unknown, 2>>(begin));
}
/// Returns the same for a size known only at run time.
inline value random_crop(value x, std::int64_t height, std::int64_t width) {
  return crop(x, detail::drawn_places(x), height, width);
}

}  // namespace rill

#include "rill/ops/image/crop.ipp"
