// Arithmetic: add, sub, mul, div, neg, square, sqrt, maximum, minimum, conj.
#pragma once
#include "rill/ops/base/elementwise.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

/// Returns the derivatives of a binary operation, each summed to the extents of its operand. Only the wanted ones are
/// computed.
template <class X, class Y> std::vector<gradient> binary_gradients(gradient_request const& r, X dx, Y dy) {
  std::vector<gradient> all(2);
  if (r.wanted[0]) all[0] = sum_like(dx(), r.in(0));
  if (r.wanted[1]) all[1] = sum_like(dy(), r.in(1));
  return all;
}

/// Returns 1 - x² for x from -1 to 1: as (1 - x) (1 + x) where the difference would cancel. Near 0 the product's
/// derivative would cancel, and at 1 and -1 its second derivative would be infinite times 0: there 1 - x² is computed
/// as it is.
template <class V> V rest_of_square(V x) {
  V s = square(x), plain = logical_or(less(s, 0.25), equal(s, 1));
  return select(plain, 1 - s, (1 - x) * (1 + x));
}

struct mul_op;

struct add_op : elementwise<add_op, 2> {
  using library = void;
  using then = mul_op;
  static constexpr std::string_view name = "add", doc = "x + y, broadcast";
  static constexpr bool wide_gradient = false;
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x + y; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return binary_gradients(r, [&] { return r.dy(); }, [&] { return r.dy(); });
  }
};

struct sub_op : elementwise<sub_op, 2> {
  using library = void;
  using then = mul_op;
  static constexpr std::string_view name = "sub", doc = "x - y, broadcast";
  static constexpr bool wide_gradient = false;
  static constexpr dtypes elements = dtypes::numbers;
  template <class S> static S apply(S x, S y) { return x - y; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return binary_gradients(r, [&] { return r.dy(); }, [&] { return -V(r.dy()); });
  }
};

struct mul_op : elementwise<mul_op, 2> {
  using library = void;
  using then = add_op;
  static constexpr std::string_view name = "mul", doc = "x * y, broadcast";
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x * y; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), y = r.in(1), dz = r.dy();
    return binary_gradients(r, [&] { return dz * conj(y); }, [&] { return dz * conj(x); });
  }
};

struct div_op : elementwise<div_op, 2> {
  using library = void;
  static constexpr std::string_view name = "div",
                                    doc = "x / y, broadcast; integers round toward zero, and x / 0 is 0 for them";
  static constexpr dtypes elements = dtypes::numbers;
  template <class S> static S apply(S x, S y) { return x / y; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.in(1), z = r.out(), dz = r.dy();  // z = x / y: dx = dz / y, dy = -dz z / y
    return binary_gradients(r, [&] { return dz / conj(y); }, [&] { return -(dz * conj(z) / conj(y)); });
  }
};

struct neg_op : elementwise<neg_op, 1> {
  using library = void;
  static constexpr std::string_view name = "neg", doc = "-x";
  static constexpr bool wide_gradient = false;
  static constexpr dtypes elements = dtypes::signed_integers | dtypes::floats | dtypes::complexes;
  template <class S> static S apply(S x) { return -x; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) { return {-V(r.dy())}; }
};

struct square_op : elementwise<square_op, 1> {
  using library = void;
  static constexpr std::string_view name = "square", doc = "x * x";
  static constexpr dtypes elements = dtypes::numbers;
  template <class S> static S apply(S x) { return x * x; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), dy = r.dy();
    return {dy * (conj(x) + conj(x))};
  }
};

struct sqrt_op : elementwise<sqrt_op, 1> {
  using library = void;
  static constexpr std::string_view name = "sqrt", doc = "the square root; NaN of negative numbers";
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  template <class S> static S apply(S x) { return sqrt(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.out(), dy = r.dy();  // dy / (2 y)
    return {dy / conj(y + y)};
  }
};

/// What maximum and minimum share: the chosen operand gets the derivative; equal operands get half each, as in PyTorch
/// and JAX. So max(x, 0) - x z + log(1 + exp(-|x|)), a cross-entropy, has its correct derivative 1/2 - z at x = 0.
template <class Op> struct extreme : elementwise<Op, 2> {
  static constexpr bool wide_gradient = false;
  static constexpr dtypes elements = dtypes::reals;
  static constexpr bool commutes = true;
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), y = r.in(1), dz = r.dy(), first = Op::takes(x, y), second = Op::takes(y, x);
    auto const share = [&](V taken, V other) { return select(other, zero(dz), select(taken, dz, dz * 0.5)); };
    return binary_gradients(r, [&] { return share(first, second); }, [&] { return share(second, first); });
  }
};

struct maximum_op : extreme<maximum_op> {
  using library = void;
  static constexpr std::string_view
      name = "maximum",
      doc = "the larger of x and y, broadcast; NaN if either is; equal operands get half of the derivative each";
  template <class S> static S apply(S x, S y) { return maximum(x, y); }
  /// Returns where `x` is chosen rather than `y`.
  template <class V> static V takes(V x, V y) { return less(y, x); }
};

struct minimum_op : extreme<minimum_op> {
  using library = void;
  static constexpr std::string_view
      name = "minimum",
      doc = "the smaller of x and y, broadcast; NaN if either is; equal operands get half of the derivative each";
  template <class S> static S apply(S x, S y) { return minimum(x, y); }
  /// Returns where `x` is chosen rather than `y`.
  template <class V> static V takes(V x, V y) { return less(x, y); }
};

struct conj_op : elementwise<conj_op, 1> {
  using library = void;
  static constexpr std::string_view name = "conj", doc = "the complex conjugate";
  static constexpr bool wide_gradient = false;
  static constexpr dtypes elements = dtypes::complexes;
  static constexpr bool has_formula = false;  // no packet holds complex numbers
  template <class S> static S apply(S x) {
    if constexpr (requires { x.value.real(); }) return S(std::conj(x.value));
    else return conj(x);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) { return {conj(V(r.dy()))}; }
};

}  // namespace rill::ops

namespace rill {

/// Returns x + y, broadcast.
template <operand X, operand Y> auto add(X x, Y y) { return record<ops::add_op>(x, y); }
/// Returns x - y, broadcast.
template <operand X, operand Y> auto sub(X x, Y y) { return record<ops::sub_op>(x, y); }
/// Returns x * y, broadcast, element by element.
template <operand X, operand Y> auto mul(X x, Y y) { return record<ops::mul_op>(x, y); }
/// Returns x / y, broadcast; integers round toward zero, and x / 0 is 0 for them.
template <operand X, operand Y> auto div(X x, Y y) { return record<ops::div_op>(x, y); }
/// Returns -x.
template <operand X> auto neg(X x) { return record<ops::neg_op>(x); }
/// Returns x * x.
template <operand X> auto square(X x) { return record<ops::square_op>(x); }
/// Returns the square root; NaN of negative numbers.
template <operand X> auto sqrt(X x) { return record<ops::sqrt_op>(x); }
/// Returns the larger of x and y, broadcast; NaN if either is. Equal operands get half of the derivative each
/// (docs/guide/gradients.md).
template <operand X, operand Y> auto maximum(X x, Y y) { return record<ops::maximum_op>(x, y); }
template <operand X, number N> auto maximum(X x, N n) { return maximum(x, like(x, n)); }
template <number N, operand X> auto maximum(N n, X x) { return maximum(like(x, n), x); }
/// Returns the smaller of x and y, broadcast; NaN if either is. Equal operands get half of the derivative each
/// (docs/guide/gradients.md).
template <operand X, operand Y> auto minimum(X x, Y y) { return record<ops::minimum_op>(x, y); }
template <operand X, number N> auto minimum(X x, N n) { return minimum(x, like(x, n)); }
template <number N, operand X> auto minimum(N n, X x) { return minimum(like(x, n), x); }
/// Returns the complex conjugate; a real value unchanged.
template <operand X> auto conj(X x) {
  if constexpr (typed<X>) {
    if constexpr (is_complex(X::static_type.element)) return record<ops::conj_op>(x);
    else return x;
  } else return is_complex(x.type().element) ? record<ops::conj_op>(x) : x;
}

template <operand X, operand Y> auto operator+(X x, Y y) { return record<ops::add_op>(x, y); }
template <operand X, operand Y> auto operator-(X x, Y y) { return record<ops::sub_op>(x, y); }
template <operand X, operand Y> auto operator*(X x, Y y) { return record<ops::mul_op>(x, y); }
template <operand X, operand Y> auto operator/(X x, Y y) { return record<ops::div_op>(x, y); }
template <operand X> auto operator-(X x) { return record<ops::neg_op>(x); }

template <operand X, number N> auto operator+(X x, N n) { return record<ops::add_op>(x, like(x, n)); }
template <operand X, number N> auto operator-(X x, N n) { return record<ops::sub_op>(x, like(x, n)); }
template <operand X, number N> auto operator*(X x, N n) { return record<ops::mul_op>(x, like(x, n)); }
template <operand X, number N> auto operator/(X x, N n) { return record<ops::div_op>(x, like(x, n)); }
template <number N, operand X> auto operator+(N n, X x) { return record<ops::add_op>(like(x, n), x); }
template <number N, operand X> auto operator-(N n, X x) { return record<ops::sub_op>(like(x, n), x); }
template <number N, operand X> auto operator*(N n, X x) { return record<ops::mul_op>(like(x, n), x); }
template <number N, operand X> auto operator/(N n, X x) { return record<ops::div_op>(like(x, n), x); }

namespace detail {
/// A list of numbers or text, which a program may try to use as an operand.
template <class Y>
concept list_or_text = !operand<Y> && requires(Y const& y) { std::data(y), std::size(y); };
}  // namespace detail
/// Refuses lists and text, with a sentence in place of a list of operators.
template <operand X, detail::list_or_text Y> detail::refused operator+(X, Y const&) {
  constexpr bool is_operand = !detail::list_or_text<Y>;
  static_assert(
      is_operand,
      "a handle goes with handles and numbers: rill::constant(g, rill::vector({...})) is a handle with a list");
  return {};
}
template <detail::list_or_text Y, operand X> detail::refused operator+(Y const&, X) {
  constexpr bool is_operand = !detail::list_or_text<Y>;
  static_assert(
      is_operand,
      "a handle goes with handles and numbers: rill::constant(g, rill::vector({...})) is a handle with a list");
  return {};
}
/// Refuses lists and text, with a sentence in place of a list of operators.
template <operand X, detail::list_or_text Y> detail::refused operator-(X, Y const&) {
  constexpr bool is_operand = !detail::list_or_text<Y>;
  static_assert(
      is_operand,
      "a handle goes with handles and numbers: rill::constant(g, rill::vector({...})) is a handle with a list");
  return {};
}
template <detail::list_or_text Y, operand X> detail::refused operator-(Y const&, X) {
  constexpr bool is_operand = !detail::list_or_text<Y>;
  static_assert(
      is_operand,
      "a handle goes with handles and numbers: rill::constant(g, rill::vector({...})) is a handle with a list");
  return {};
}
/// Refuses lists and text, with a sentence in place of a list of operators.
template <operand X, detail::list_or_text Y> detail::refused operator*(X, Y const&) {
  constexpr bool is_operand = !detail::list_or_text<Y>;
  static_assert(
      is_operand,
      "a handle goes with handles and numbers: rill::constant(g, rill::vector({...})) is a handle with a list");
  return {};
}
template <detail::list_or_text Y, operand X> detail::refused operator*(Y const&, X) {
  constexpr bool is_operand = !detail::list_or_text<Y>;
  static_assert(
      is_operand,
      "a handle goes with handles and numbers: rill::constant(g, rill::vector({...})) is a handle with a list");
  return {};
}
/// Refuses lists and text, with a sentence in place of a list of operators.
template <operand X, detail::list_or_text Y> detail::refused operator/(X, Y const&) {
  constexpr bool is_operand = !detail::list_or_text<Y>;
  static_assert(
      is_operand,
      "a handle goes with handles and numbers: rill::constant(g, rill::vector({...})) is a handle with a list");
  return {};
}
template <detail::list_or_text Y, operand X> detail::refused operator/(Y const&, X) {
  constexpr bool is_operand = !detail::list_or_text<Y>;
  static_assert(
      is_operand,
      "a handle goes with handles and numbers: rill::constant(g, rill::vector({...})) is a handle with a list");
  return {};
}

}  // namespace rill
