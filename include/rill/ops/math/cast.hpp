// Values in another element type.
#pragma once
#include "rill/ops/base/elementwise.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill::ops {

/// Returns cast as a function of programs: unlike other functions it depends on the wanted result type.
template <class Op> struct cast_function {
  static constexpr scalar_function const& function()
    requires rill::detail::defined_here<Op>
  {
    return made;
  }
  static kernel cpu(kernel_request const& r)
    requires rill::detail::defined_here<Op>
  {
    return rill::detail::make_kernel(made, r);
  }

 private:
  static dtype result(dtype const*, dtype wish) { return wish; }
  static tile_function tile(dtype const* operands, dtype to) {
    auto const& tiles = kernels_of<Op>(dtypes{operands[0]} | to).tile;
    return tiles[static_cast<std::size_t>(operands[0])][static_cast<std::size_t>(to)];
  }
  static std::string formula(std::string_view const* operands) {
    return "converted<R>(" + std::string(operands[0]) + ")";
  }
  static constexpr scalar_function made{"cast", 1, result, tile, formula, &rill::detail::defined<Op>};
};

struct cast_op : cast_function<cast_op> {
  using library = void;
  static constexpr std::string_view
      name = "cast",
      doc =
          "x in another element type: floats round toward 0 to integers and saturate, NaN becomes 0; integers wrap; of "
          "a complex number the real part; as bool, whether x is not 0";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::numeric_or_bool;
  static constexpr std::string_view result_element = "to";
  struct attributes {
    dtype to = dtype::float32;
    static constexpr auto fields(auto const& take) { return take(field{"to", &attributes::to}); }
  };
  /// Kernels by the element types of operand and result.
  struct kernels {
    std::array<std::array<tile_function, dtype_count>, dtype_count> tile{};
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element) && elements.contains(a.to), "cast: strings can't be cast to or from numbers");
    return x.with(a.to);
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    return {0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {cast(V(r.dy()), r.in(0).type().element)};
  }
  template <dtypes Set> static constexpr kernels make_kernels();
};

}  // namespace rill::ops

namespace rill {

/// Returns x in another element type. Floats round toward 0 to integers and saturate; NaN becomes 0. Integers wrap. A
/// complex number becomes its real part.
template <element T, operand X> auto cast(X x) {
  if constexpr (detail::stands_for_number<X>) return record<ops::cast_op>(x);
  else if constexpr (typed<X>) {
    if constexpr (X::static_type.element == dtype_of<T>) return x;
    else return record<ops::cast_op, ops::cast_op::attributes{dtype_of<T>}>(x);
  } else return cast(value(x), dtype_of<T>);
}
/// Returns the same for an element type known only at run time.
inline value cast(value x, dtype to) {
  return x.type().element == to ? x : record_erased<ops::cast_op>(detail::graph_of(x), {to}, {x});
}

namespace detail {

/// Returns the element type in which functions of several operations compute: float32 for 16-bit floats, else the type
/// itself (docs/guide/precision.md).
constexpr dtype wide_element(dtype element) {
  return element == dtype::float16 || element == dtype::bfloat16 ? dtype::float32 : element;
}
/// The C++ type of that element type.
template <element T> using wide_of = element_of<wide_element(dtype_of<T>)>;
/// Whether a handle's elements are 16-bit floats, as far as its static type knows.
template <class X> constexpr bool is_narrow() {
  if constexpr (typed<X>) return wide_element(X::static_type.element) != X::static_type.element;
  else return false;
}

/// Returns x with 16-bit floats cast to float32. x is a handle, or a number in a lambda of `fuse` or in a kernel.
template <class X> auto widened(X x) {
  if constexpr (requires { x.widened(); }) return x.widened();
  else if constexpr (is_narrow<X>()) return cast<float>(x);
  else if constexpr (typed<X> || !std::derived_from<X, value>) return x;
  else return x ? cast(value(x), wide_element(x.type().element)) : value(x);
}
/// Returns y, which was computed from `widened(x)`, in x's element type.
template <class X, class Y> auto narrowed_to(X x, Y y) {
  if constexpr (requires { X::rounded(y); }) return X::rounded(y);
  else if constexpr (!std::derived_from<X, value> || std::same_as<Y, refused>) return y;
  else if constexpr (is_narrow<X>()) return cast<element_of<X::static_type.element>>(y);
  else if constexpr (typed<X>) return y;
  else {
    auto const element = x.type().element;
    bool const rounds = element != wide_element(element) && y.type().element == wide_element(element);
    return rounds ? cast(value(y), element) : value(y);
  }
}
/// Whether two element types are different floats, one of them of 16 bits, so that widening could hide the difference.
constexpr bool would_mix(dtype a, dtype b) {
  return a != b && dtypes::floats.contains(a) && dtypes::floats.contains(b) &&
         (wide_element(a) != a || wide_element(b) != b);
}
template <class X, class Y> constexpr bool is_mixed() {
  if constexpr (typed<X> && typed<Y>) return would_mix(X::static_type.element, Y::static_type.element);
  else return false;
}
template <class X, class Y> void expect_alike([[maybe_unused]] X const& x, [[maybe_unused]] Y const& y) {
  if constexpr (std::derived_from<X, value> && std::derived_from<Y, value>) {
    value const a = x, b = y;
    expects(!a || !b || !would_mix(a.type().element, b.type().element),
            "the operands have different element types; cast one of them");
  }
}

/// Returns f(x...), computed in float32 if the first x has 16-bit floats, and rounded once. Floats of different
/// types are refused, as the operations that f records would refuse them.
template <class F, class X, class... Rest> auto in_wide(F const& f, X x, Rest... rest) {
  if constexpr ((is_mixed<X, Rest>() || ...)) return f(x, rest...);
  else {
    (expect_alike(x, rest), ...);
    return narrowed_to(x, f(widened(x), widened(rest)...));
  }
}

}  // namespace detail

}  // namespace rill

#if RILL_KERNELS
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/math/cast_kernels.hpp"

namespace rill::ops {

template <dtypes Set> constexpr cast_op::kernels cast_op::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class From>(std::size_t from) {
    for_each_type<elements & Set>(
        [&]<class To>(std::size_t to) { k.tile[from][to] = rill::kernels::cast_tile<From, To>; });
  });
  return k;
}

}  // namespace rill::ops
#endif
