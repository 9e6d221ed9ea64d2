// Operators that tensors don't have: a program that uses one gets a sentence, where it would get a list of all
// operators.
#pragma once
#include <compare>
#include <concepts>
#include <type_traits>

#include "rill/type/dtype.hpp"

namespace rill {

class tensor;

namespace detail {

template <class X>
concept is_tensor = std::derived_from<X, tensor>;

/// Whether X is a tensor that stays one beside a Y. A tensor_of a scalar converts to its number beside a number.
template <class X, class Y> inline constexpr bool stays_tensor = is_tensor<X>;
template <is_tensor X, class Y>
  requires(X::static_type.rank == 0)
inline constexpr bool stays_tensor<X, Y> = !std::convertible_to<Y const&, element_of<X::static_type.element>>;

template <class X, class Y>
concept with_tensor = stays_tensor<X, Y> || stays_tensor<Y, X>;

/// A tensor, a number or a handle of a graph. Other types, such as streams, may have operators of their own for any
/// type on the other side.
template <class X>
concept meets_tensors = is_tensor<X> || std::is_arithmetic_v<X> || requires(X const& x) { x.graph, x.node; };
template <class X, class Y>
concept beside_tensor = with_tensor<X, Y> && meets_tensors<X> && meets_tensors<Y>;

/// The type of a refused operation, so that compilers report no further errors.
template <class X, class Y> using tensor_among = std::conditional_t<is_tensor<X>, X, Y>;
template <class X, class Y> tensor_among<X, Y> const& the_tensor(X const& x, Y const& y) {
  if constexpr (is_tensor<X>) return x;
  else return y;
}

/// The operators are friends of a base of `tensor`, so that compilers consider them beside tensors only. Their results
/// have declared types, so that a program can ask by a concept whether there is an operator. Each repeats the sentence,
/// because a shared function would add a line between the sentence and the program's own line.
struct no_operators {
  template <class X, class Y>
    requires with_tensor<X, Y>
  friend tensor_among<X, Y> operator+(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <class X, class Y>
    requires with_tensor<X, Y>
  friend tensor_among<X, Y> operator-(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <class X, class Y>
    requires with_tensor<X, Y>
  friend tensor_among<X, Y> operator*(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <class X, class Y>
    requires with_tensor<X, Y>
  friend tensor_among<X, Y> operator/(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <class X, class Y>
    requires with_tensor<X, Y>
  friend tensor_among<X, Y> operator%(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <is_tensor X>
    requires stays_tensor<X, X>
  friend X operator-(X const& x) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator+=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator-=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator*=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator/=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <class X, class Y>
    requires beside_tensor<X, Y>
  friend tensor_among<X, Y> operator&(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <class X, class Y>
    requires beside_tensor<X, Y>
  friend tensor_among<X, Y> operator|(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <class X, class Y>
    requires beside_tensor<X, Y>
  friend tensor_among<X, Y> operator^(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <class X, class Y>
    requires beside_tensor<X, Y>
  friend tensor_among<X, Y> operator<<(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <class X, class Y>
    requires beside_tensor<X, Y>
  friend tensor_among<X, Y> operator>>(X const& x, Y const& y) {
    constexpr bool has_arithmetic = !with_tensor<X, Y>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return the_tensor(x, y);
  }
  template <is_tensor X>
    requires stays_tensor<X, X>
  friend X operator+(X const& x) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X>
    requires stays_tensor<X, X>
  friend X operator~(X const& x) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator%=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator&=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator|=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator^=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator<<=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X, class Y> friend X& operator>>=(X& x, Y const&) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X> friend X& operator++(X& x) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X> friend X& operator--(X& x) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X> friend X& operator++(X& x, int) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <is_tensor X> friend X& operator--(X& x, int) {
    constexpr bool has_arithmetic = !is_tensor<X>;
    static_assert(
        has_arithmetic,
        "tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run them; "
        "t.item<float>() is a number");
    return x;
  }
  template <class X, class Y>
    requires with_tensor<X, Y>
  friend bool operator==(X const&, Y const&) {
    constexpr bool has_comparisons = !with_tensor<X, Y>;
    static_assert(
        has_comparisons,
        "tensors have no comparisons: rill::same_bits(a, b) compares all elements, t.item<float>() is a number, and "
        "handles of a graph are compared element by element");
    return false;
  }
  template <class X, class Y>
    requires with_tensor<X, Y>
  friend std::partial_ordering operator<=>(X const&, Y const&) {
    constexpr bool has_comparisons = !with_tensor<X, Y>;
    static_assert(
        has_comparisons,
        "tensors have no comparisons: rill::same_bits(a, b) compares all elements, t.item<float>() is a number, and "
        "handles of a graph are compared element by element");
    return std::partial_ordering::unordered;
  }
};

}  // namespace detail
}  // namespace rill
