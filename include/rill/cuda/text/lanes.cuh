// What the formulas of programs call (program/formula.hpp), in CUDA source.
#pragma once
#include <bit>
#include <cstdint>

#include "rill/ops/math/cast_kernels.hpp"
#include "rill/program/scalar.hpp"

namespace rill::text {

/// A lane of one number of type T.
template <class T> using lane = lane_type_t<T>;

/// The lane in which functions of several operations compute: of float for 16-bit floats.
template <class L> struct wide_lane {
  using type = L;
};
template <class L>
  requires requires(L x) { x.widened(); }
struct wide_lane<L> {
  using type = decltype(L{}.widened());
};
template <class L> using wide = typename wide_lane<L>::type;

/// Returns a lane of type L as one in which functions of several operations compute.
template <class L> wide<L> widened(L x) {
  if constexpr (requires { x.widened(); }) return x.widened();
  else return x;
}
/// Returns what was computed from `widened(x)` rounded to type L, or a truth value (L::truth).
template <class L, class Y> auto rounded(Y y) {
  if constexpr (requires { L::rounded(y); }) return L::rounded(y);
  else return y;
}

/// Returns what a formula computed, a lane, a truth value or a number, as a number of type R.
template <class R, class X> R number(X x) {
  if constexpr (requires { X::lanes; }) return static_cast<R>(x[0]);
  else return static_cast<R>(x);
}
/// Returns a number in another element type, as `cast` does.
template <class R, class X> R converted(X x) {
  if constexpr (requires { X::lanes; }) return kernels::detail::converted<R>(x[0]);
  else return kernels::detail::converted<R>(x);
}
/// Returns the number that has these bits.
template <class T> T from_bits(unsigned long bits) {
  if constexpr (std::is_same_v<T, bool>) return bits != 0;
  else return std::bit_cast<T>(static_cast<detail::unsigned_word<sizeof(T)>>(bits));
}

}  // namespace rill::text

namespace rill {

/// Returns `a` if `chosen`, else `b`: of truth values all three are lanes of one type.
inline scalar<bool> select(scalar<bool> chosen, scalar<bool> a, scalar<bool> b) { return chosen.value ? a : b; }

}  // namespace rill
