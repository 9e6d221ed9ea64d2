// Constants: values stored in the graph.
#pragma once
#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct constant_op {
  using library = void;
  static constexpr std::string_view name = "constant",
                                    doc = "a value stored in the graph; a step may feed another in its place";
  static constexpr op_kind kind = op_kind::constant;
  static constexpr std::string_view constant_value = "value";
  static constexpr std::int8_t arity = 0;
  struct attributes {
    tensor value;
    static constexpr auto fields(auto const& take) { return take(field{"value", &attributes::value}); }
  };
  static type infer(attributes const& a, std::span<type const>) {
    expects(static_cast<bool>(a.value), "constant: the tensor is an empty handle");
    return a.value.type();
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return kernel([value = decode<attributes>(r.at.attributes).value](kernel_call const& call) {
      if (value.element() == dtype::string)
        std::copy_n(value.data<std::string>(), value.elements(), call.out<std::string>(0));
      else if (value.bytes() != 0) std::memcpy(call.out(0), value.raw(), value.bytes());
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns a constant of any type. It shares the tensor's elements: writing to them later changes the graph; pass
/// `t.clone()` to avoid that.
value constant(graph& g, tensor const& t, std::string_view name = {});

namespace detail {
/// Returns the same. Throws error(invalid_argument) if the tensor does not have the type `wanted`.
value constant_of(type const& wanted, graph& g, tensor const& t);
}  // namespace detail

/// A scalar.
template <element T>
  requires(!std::derived_from<T, tensor>)
expr<of<T>> constant(graph& g, T const& scalar) {
  return {constant(g, tensor(scalar))};
}
/// Returns a constant with these elements in row-major order: `constant<float, 2, 2>(g, {1, 2, 3, 4})`.
template <element T, dim... Extents>
  requires(sizeof...(Extents) > 0)
expr<of<T, Extents...>> constant(graph& g, std::initializer_list<T> values) {
  static_assert(of<T, Extents...>.is_known(), "constant: every extent must be a number");
  auto const all = only_errors([&] { return std::vector<T>(values); });
  tensor t(dtype_of<T>, of<T, Extents...>.shape());
  expects(static_cast<std::int64_t>(values.size()) == t.elements(),
          "constant: the number of values is not the number of elements");
  std::copy(values.begin(), values.end(), t.template mutable_data<T>());
  return {constant(g, t)};
}
/// Returns a tensor as a constant. Throws error(invalid_argument) if its element type or extents differ from the static
/// type.
template <element T, dim... Extents> expr<of<T, Extents...>> constant(graph& g, tensor const& t) {
  return {detail::constant_of(of<T, Extents...>, g, t)};
}

namespace detail {

// Whether an integer type has the number. A float is compared with the ends of the type before anything converts it:
// the conversion of a number beyond them is undefined. The ends are exact as floats: powers of two.
template <std::integral T, class N> bool has_number(N n) {
  if constexpr (std::same_as<T, bool>) return n == N(0) || n == N(1);
  else if constexpr (std::integral<N>) return std::in_range<T>(+n);
  else {
    using real = std::conditional_t<std::floating_point<N>, N, float>;
    constexpr auto end = static_cast<real>(std::numeric_limits<T>::max() / 2 + 1) * 2;
    auto const x = static_cast<real>(n);
    return x >= static_cast<real>(std::numeric_limits<T>::min()) && x < end && x == std::trunc(x);
  }
}
// The number as a T if T can represent it.
template <class T, class N> T exactly(N n) {
  if constexpr (std::same_as<T, std::string>)
    throw error(code::invalid_argument, "a number can't be combined with strings");
  else if constexpr (requires { T(n); } && !(std::integral<T> && !std::convertible_to<N, T>)) {
    if constexpr (std::integral<T> && !std::same_as<T, N>)
      if (!has_number<T>(n))
        throw error(code::invalid_argument,
                    "the number can't be represented as " + std::string(rill::name(dtype_of<T>)));
    if constexpr (requires { typename T::value_type; } && std::is_arithmetic_v<N>)
      return T(static_cast<typename T::value_type>(n));
    else return static_cast<T>(n);
  } else if constexpr (requires { T(static_cast<float>(n)); }) return T(static_cast<float>(n));
  else throw error(code::invalid_argument, "a complex number can't be combined with real values");
}

template <class N> tensor number_as(dtype d, N n) try {
  if constexpr (std::signed_integral<N> && !std::same_as<N, std::int64_t>)
    return number_as(d, static_cast<std::int64_t>(n));  // one function for all of them: it is long
  else {
    tensor t(d, shape{});
    visit(d, [&]<class T>() { *static_cast<T*>(t.mutable_raw()) = exactly<T>(n); });
    return t;
  }
} catch (...) {
  rethrow_as_error();
}

// The same for a static type, so that user code does not instantiate conversions to all other types.
template <element T, number N> tensor literal_as(N n) try {
  if constexpr (std::integral<T> && !std::same_as<T, bool> && std::is_arithmetic_v<N>) return tensor(exactly<T>(n));
  else if constexpr (std::same_as<T, half> || std::same_as<T, bfloat16>) return tensor(exactly<T>(n));
  else if constexpr (requires { typename T::value_type; } && std::is_arithmetic_v<N>)
    return tensor(T(static_cast<typename T::value_type>(n)));
  else if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool> && std::is_arithmetic_v<N>)
    return tensor(static_cast<T>(n));
  else return number_as(dtype_of<T>, n);
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// Returns the number as a scalar constant of x's element type in x's graph, as `x * 2` needs it.
template <operand X, number N> auto like(X x, N n) {
  if constexpr (detail::stands_for_number<X>) return x;
  else if constexpr (typed<X>) {
    constexpr auto d = X::static_type.element;
    constexpr bool exact = !std::floating_point<N> || !dtypes::integers.contains(d);
    static_assert(exact, "a fractional number can't be combined with integers: cast one of them");
    return expr<type(d)>{constant(detail::graph_of(x), detail::literal_as<element_of<d>>(n))};
  } else return constant(detail::graph_of(x), detail::number_as(x.type().element, n));
}

/// Returns a scalar zero of x's element type.
template <operand X> auto zero(X x) { return like(x, std::int8_t{0}); }

#if RILL_RUNTIME
RILL_INLINE value constant(graph& g, tensor const& t, std::string_view name) {
  if (!t) throw error(code::invalid_argument, "a constant was given an empty tensor handle");
  return record_erased<ops::constant_op>(g, {t}, {}, name);
}
RILL_INLINE value detail::constant_of(type const& wanted, graph& g, tensor const& t) {
  if (t && !accepts(wanted, t.type())) refuse_type(t.type(), wanted);
  return constant(g, t);
}
#endif

}  // namespace rill
