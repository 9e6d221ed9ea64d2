// Units in which sums of squares neither overflow nor lose digits: elements are multiplied by a power of two before
// they are squared, which loses no digits either (J. L. Blue, A Portable Fortran Program to Find the Euclidean Norm of
// a Vector, ACM TOMS 1978).
#pragma once
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/network/operands.hpp"
#include "rill/ops/reduction/norm.hpp"

namespace rill::detail {

/// The units for an element type.
struct square_units {
  double least;  ///< a sum of squares below this number lost digits
  double large;  ///< what elements are multiplied by if the sum of their squares is below `least`
  double small;  ///< what elements are multiplied by if the sum of their squares overflows
};
constexpr square_units square_units_of(dtype element) {
  if (element == dtype::float64) return {.least = 0x1p-600, .large = 0x1p600, .small = 0x1p-600};
  return {.least = 0x1p-80, .large = 0x1p70, .small = 0x1p-90};
}
/// Returns the unit for elements with these sums of squares, of which most have the unit 1.
template <operand S> auto square_unit(S squares) {
  auto const units = square_units_of(squares.type().element);
  return select(less(squares, units.least), units.large, select(is_inf(squares), units.small, like(squares, 1)));
}

/// Returns the lengths [...] of vectors [..., n], which are not of 16-bit floats. The derivative at 0 is 0.
template <operand X> auto vector_length(X x) {
  expect_floats(x);
  auto const unit = square_unit(sum<-1>(square(x)));
  return root(sum<-1>(square(x * expand_dims<-1>(unit))), 0.5) / unit;
}
/// Returns vectors [..., n] of length 1 with the directions of x; zeros with derivative 0 for vectors of zeros. They
/// are not of 16-bit floats.
template <operand X> auto direction(X x) {
  expect_floats(x);
  auto const y = x * expand_dims<-1>(square_unit(sum<-1>(square(x))));
  auto const squares = sum<-1>(square(y), keep);
  auto const none = equal(squares, 0);
  return select(none, 0, y / sqrt(select(none, 1, squares)));
}

}  // namespace rill::detail
