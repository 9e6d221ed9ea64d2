// Images whose height and width are multiplied by a number.
#pragma once
#include <string>

#include "rill/ops/image/resize.hpp"

namespace rill {

namespace detail {

/// Returns the height and width of enlarged images. Fails unless those of x are known and not too large.
constexpr ops::new_size enlarged(type const& x, std::int64_t factor, checks expects = {}) {
  constexpr auto most = ops::resizing_rules::most;
  if (!expects(factor > 0 && factor <= most, "upsample: the factor must be from 1 to 16777216") ||
      !expects(x.has_rank() && (x.rank == 3 || x.rank == 4) && x[x.rank - std::size_t{3}].known() &&
                   x[x.rank - std::size_t{2}].known(),
               "upsample: expected images [height, width, channels] or [n, height, width, channels] of a known height "
               "and width"))
    return {};
  auto const height = x[x.rank - std::size_t{3}].extent, width = x[x.rank - std::size_t{2}].extent;
  if (!expects(height <= most && width <= most, "upsample: the height and width of an image must be up to 16777216"))
    return {};
  return {height * factor, width * factor};
}

template <std::int64_t Factor> struct upsampling {
  static constexpr std::string_view name = "upsample";
  static constexpr std::int8_t arity = 1;
  static constexpr ops::new_size infer(no_attributes, type const& x, checks expects = {}) {
    return enlarged(x, Factor, expects);
  }
};

}  // namespace detail

/// Returns images [height, width, channels] or [n, height, width, channels] whose height and width are multiplied by a
/// factor; each pixel becomes a square of its copies: `upsample_nearest<2>(x)`. The height and width of x must be
/// known.
template <std::int64_t Factor, typed X> auto upsample_nearest(X x) {
  using rules = detail::upsampling<Factor>;
  constexpr auto size = detail::inferred_by<rules, no_attributes{}, X>();
  if constexpr (size.refused()) return detail::refuse<rules, no_attributes{}, X>();
  else return resize_nearest<size.types.height, size.types.width>(x);
}
/// Returns the same for a factor known only at run time.
inline value upsample_nearest(value x, std::int64_t factor) {
  auto const size = detail::enlarged(x.type(), factor);
  return resize_nearest(x, size.height, size.width);
}
/// Returns the same by bilinear interpolation between pixel centres. Integers become float32.
template <std::int64_t Factor, typed X> auto upsample_bilinear(X x) {
  using rules = detail::upsampling<Factor>;
  constexpr auto size = detail::inferred_by<rules, no_attributes{}, X>();
  if constexpr (size.refused()) return detail::refuse<rules, no_attributes{}, X>();
  else return resize_bilinear<size.types.height, size.types.width>(x);
}
inline value upsample_bilinear(value x, std::int64_t factor) {
  auto const size = detail::enlarged(x.type(), factor);
  return resize_bilinear(x, size.height, size.width);
}

}  // namespace rill
