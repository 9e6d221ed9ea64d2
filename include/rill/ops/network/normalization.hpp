// Normalisation to mean 0 and variance 1: over the features of each row, over groups of channels, or over each channel
// of an example; 16-bit floats as float32 (docs/guide/precision.md). Layers with a scale and a shift are in train/.
#pragma once
#include <string>

#include "rill/ops/array/reshape.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/network/operands.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {

namespace detail {

/// Returns x normalised over the channels of each group and all axes between the first and the last; each channel is a
/// group if `groups` is 0.
value group_normalized(value x, std::int64_t groups, double epsilon);

/// Provides kernels for the static element type of x in a header-only program.
template <operand X> void provide_group_norm() {
  if constexpr (typed<X>) {
    constexpr dtypes set{wide_element(X::static_type.element)};
    provide_kernels<ops::cast_op, set | X::static_type.element>();
    provide_kernels<ops::add_op, set>(), provide_kernels<ops::sub_op, set>(), provide_kernels<ops::div_op, set>();
    provide_kernels<ops::sqrt_op, set>(), provide_kernels<ops::square_op, set>(), provide_kernels<ops::mean_op, set>();
    provide_kernels<ops::broadcast_like_op, set>();
  }
}

}  // namespace detail

/// Returns (x - mean) / √(variance + epsilon) over the features of each row of x [..., features] (J. L. Ba et al.,
/// Layer Normalization, 2016); 0 where squares overflow, of float32 from 1.8e19 on.
template <operand X> auto layer_norm(X x, double epsilon = 1e-5) {
  detail::expect_floats(x);
  return detail::in_wide(
      [epsilon](auto v) {
        auto const apart = v - mean<-1>(v, keep);
        return apart / sqrt(mean<-1>(square(apart), keep) + epsilon);
      },
      x);
}
/// Returns x / √(mean of x² + epsilon) over the features of each row of x [..., features] (B. Zhang and R. Sennrich,
/// Root Mean Square Layer Normalization, NeurIPS 2019); 0 where squares overflow.
template <operand X> auto rms_norm(X x, double epsilon = 1e-6) {
  detail::expect_floats(x);
  return detail::in_wide([epsilon](auto v) { return v / sqrt(mean<-1>(square(v), keep) + epsilon); }, x);
}
/// Returns (x - mean) / √(variance + epsilon) over each group of neighbouring channels of each example of x [n, ...,
/// channels], and over all axes between (Y. Wu and K. He, Group Normalization, ECCV 2018); 0 where squares overflow.
/// Throws error(invalid_argument) unless x is of floats and `groups` divides a known number of channels.
template <operand X> X group_norm(X x, std::int64_t groups, double epsilon = 1e-5) {
  detail::expect_floats(x), detail::provide_group_norm<X>();
  expects(groups > 0, "group_norm: the number of groups must be above 0");
  return X{detail::narrowed_to(value(x), detail::group_normalized(detail::widened(value(x)), groups, epsilon))};
}
/// Returns (x - mean) / √(variance + epsilon) over the pixels of each channel of each example of x [n, ..., channels]
/// (D. Ulyanov et al., Instance Normalization, 2016); 0 where squares overflow. Throws error(invalid_argument) unless x
/// is of floats and of rank 3 or more.
template <operand X> X instance_norm(X x, double epsilon = 1e-5) {
  detail::expect_floats(x), detail::provide_group_norm<X>();
  auto const t = x.type();
  expects(t.has_rank() && t.rank >= 3, "instance_norm: expected [n, ..., channels] with an axis between");
  return X{detail::narrowed_to(value(x), detail::group_normalized(detail::widened(value(x)), 0, epsilon))};
}

#if RILL_RUNTIME
namespace detail {

/// Returns for each channel the mean over its group. `each` [n, 1, ..., channels] has the means of the channels.
inline value mean_of_group(value each, std::int64_t groups) {
  auto const channels = each.type()[each.type().rank - std::size_t{1}].extent;
  auto const apart = reshape(each, extents{-1, groups, channels / groups});
  return reshape_like(broadcast_like(mean(apart, extents{2}, true), apart), each);
}

RILL_INLINE value group_normalized(value x, std::int64_t groups, double epsilon) try {
  type const t = x.type();
  if (!t.has_rank() || t.rank < 2)
    throw error(code::invalid_argument, "group_norm: expected [n, ..., channels], got " + t.text(), x.name());
  dim const channels = t[t.rank - std::size_t{1}];
  if (groups > 0 && (!channels.known() || channels.extent == 0 || channels.extent % groups != 0))
    throw error(code::invalid_argument,
                "group_norm: expected a known number of channels that " + std::to_string(groups) +
                    " groups divide, got " + t.text(),
                x.name());
  extents pixels;
  for (std::int64_t i = 1; i + 1 < t.rank; ++i) pixels.push_back(i);
  auto const averaged = [&](value y) {
    auto const each = pixels.empty() ? y : mean(y, pixels, true);
    return groups > 0 ? mean_of_group(each, groups) : each;
  };
  auto const apart = sub(x, averaged(x));
  return div(apart, sqrt(add(averaged(square(apart)), like(x, epsilon))));
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail
#endif

}  // namespace rill
