// Typed handles of a graph's values, and recording operations through them.
#pragma once
#include <array>
#include <concepts>
#include <initializer_list>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/dsl/definition.hpp"
#include "rill/dsl/kernel_parts.hpp"
#include "rill/dsl/shape_error.hpp"

namespace rill {

/// A value of a graph whose type is known at compile time, as far as `T` says.
template <type T> struct expr : value {
  /// What the compiler knows of the type.
  static constexpr rill::type static_type = T;

  /// Whether the handle refers to a node. Refused for conditions, as in `if (loss < 1.f)`, where it would be a mistake.
  explicit operator bool() const {
    static_assert(T.element != dtype::boolean,
                  "a condition of the graph is known when a step runs, not while the graph is recorded: cond, select "
                  "and while_loop take it; &, | and ~ combine several");
    return graph != nullptr;
  }
  /// Returns a part of the value, with a type as far as the subscripts' own types say (ops/array/subscript.hpp).
  template <class Index> auto operator[](Index const& i) const { return subscript(*this, i); }
  template <class... Index>
    requires(sizeof...(Index) > 0)
  auto operator()(Index const&... i) const {
    return subscript(*this, i...);
  }
};

/// A handle whose type is known at compile time.
template <class X>
concept typed = requires { X::static_type; } && std::derived_from<X, value>;
/// The result of a non-elementwise operation on numbers in a lambda of `fuse`, which refuses it.
template <class Op> struct not_by_number {};

namespace detail {
/// Whether X is a stand-in for a number in a lambda of `fuse`.
template <class X> inline constexpr bool stands_for_number = false;
template <class Op> inline constexpr bool stands_for_number<not_by_number<Op>> = true;
}  // namespace detail

/// An operand of an operation: a typed handle, or an erased one, which is checked when it is recorded. Stand-ins for
/// numbers in a lambda of `fuse` are operands, too, so that `fuse` can name the operation that refuses them.
template <class X>
concept operand = std::derived_from<X, value> || detail::stands_for_number<X>;
/// A C++ number that can be used as a scalar beside a handle.
template <class X>
concept number = std::is_arithmetic_v<X> || std::same_as<X, half> || std::same_as<X, bfloat16> ||
                 std::same_as<X, std::complex<float>> || std::same_as<X, std::complex<double>>;

namespace detail {

/// Whether a handle may have type T, as far as its type is known at compile time.
template <class X, type T>
inline constexpr bool may_be = [] {
  if constexpr (typed<X>) return accepts(T, X::static_type);
  else return operand<X>;
}();

/// Whether a layer takes an X as its mode: a bool of the program, or a handle that may be a bool.
template <class X>
concept layer_mode = std::same_as<X, bool> || may_be<X, of<bool>>;

/// Returns the graph of the first operand; throws error(invalid_argument) for an empty handle.
graph& graph_of(value const& first);
template <class... X> graph& graph_of(value const& first, X const&...) { return graph_of(first); }

/// The first operation with a stand-in for a number as operand, which is the one that `fuse` names.
template <class Op, class... X> struct first_not_by_number {
  using type = not_by_number<Op>;
};
template <class Op, class Inner, class... X> struct first_not_by_number<Op, not_by_number<Inner>, X...> {
  using type = not_by_number<Inner>;
};
template <class Op, class First, class... X>
struct first_not_by_number<Op, First, X...> : first_not_by_number<Op, X...> {};

/// Records a node. `attributes` points to the operation's struct, so that users' files need not instantiate its
/// conversion to a list.
RILL_COMPILER value record(graph& g, op_def const& op, void const* attributes, std::span<value const> inputs,
                           std::string_view name);
/// The same in the graph of the first input.
RILL_COMPILER value record(op_def const& op, void const* attributes, std::span<value const> inputs);

template <auto Types, std::size_t... Index> auto typed_outputs(value v, std::index_sequence<Index...>) {
  return std::tuple{expr<Types[Index]>{{v.graph, v.node, static_cast<std::uint32_t>(Index)}}...};
}

/// The result of an operation that refuses its operands, so that the compiler reports no further errors.
struct refused : value {
  template <rill::type T> operator expr<T>() const;
};

template <class Types> auto refused_outputs() {
  if constexpr (std::same_as<Types, type>) return refused{};
  else {
    return []<std::size_t... Index>(std::index_sequence<Index...>) {
      return std::tuple{(static_cast<void>(Index), refused{})...};
    }(std::make_index_sequence<std::tuple_size_v<Types>>{});
  }
}

inline auto erased_outputs(value v, std::size_t count) try {
  std::vector<value> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({v.graph, v.node, i});
  return all;
} catch (...) {
  rethrow_as_error();
}

/// Returns the types of an operation's results for typed operands, for functions that don't record it by `record`.
template <class Op, auto Attributes, typed... X> constexpr auto result_types() {
  constexpr std::array<type, sizeof...(X)> inputs{X::static_type...};
  constexpr auto result = infer_or_refuse<Op>(Attributes, std::span<type const>(inputs));
  if constexpr (result.refused()) {
    constexpr auto said = sentence_of(Op::name, inputs, result.why);
    using said_by_the_compiler [[maybe_unused]] = typename decltype(named<said>())::compiles;
  }
  return result.types;
}
/// Returns the result of `Rules::infer` for typed operands, or why it refuses them.
template <class Rules, auto Attributes, typed... X> constexpr auto inferred_by() {
  constexpr std::array<type, sizeof...(X)> inputs{X::static_type...};
  return infer_or_refuse<Rules>(Attributes, std::span<type const>(inputs));
}
/// Fails compilation with the sentence by which `Rules` refuse these operands. Its result is deduced, so that compilers
/// instantiate it where it is called, and name the program's line.
template <class Rules, auto Attributes, typed... X> auto refuse() {
  constexpr std::array<type, sizeof...(X)> inputs{X::static_type...};
  constexpr auto said = sentence_of(Rules::name, inputs, inferred_by<Rules, Attributes, X...>().why);
  named<said>().compiles();
  return refused{};
}

/// Whether the types of these operands are known and `record` refuses them. A function of several operations asks, and
/// records the first of them itself, so that the compiler names few functions between the call and the sentence.
template <class Op, operand... X> constexpr bool is_refused() {
  if constexpr ((typed<X> && ...)) {
    constexpr std::array<type, sizeof...(X)> inputs{X::static_type...};
    return infer_or_refuse<Op>(rill::attributes_of<Op>{}, std::span<type const>(inputs)).refused();
  } else {
    return false;
  }
}

/// The same for other attributes than the default ones.
template <class Op, auto Attributes, operand... X> constexpr bool is_refused() {
  if constexpr ((typed<X> && ...)) return inferred_by<Op, Attributes, X...>().refused();
  else return false;
}

}  // namespace detail

/// Records an operation with attributes that are known at compile time. Returns a typed handle for typed operands (a
/// tuple of handles for several outputs); inference then runs at compile time, so that its errors are compile errors.
template <class Op, attributes_of<Op> Attributes = attributes_of<Op>{}, operand... X> auto record(X const&... x) {
  if constexpr ((detail::stands_for_number<X> || ...)) return typename detail::first_not_by_number<Op, X...>::type{};
  else if constexpr ((typed<X> && ...)) {
    value const operands[]{x...};
    constexpr std::array<type, sizeof...(X)> inputs{X::static_type...};
    constexpr auto result = detail::infer_or_refuse<Op>(Attributes, std::span<type const>(inputs));
    if constexpr (!result.refused()) {
      detail::provide_kernels<Op, detail::elements_in(inputs) | detail::elements_in(result.types)>();
      auto const v = detail::record(definition<Op>(), &Attributes, operands);
      if constexpr (std::same_as<decltype(result.types), type>) return expr<result.types>{v};
      else return detail::typed_outputs<result.types>(v, std::make_index_sequence<result.types.size()>{});
    } else {
      constexpr auto said = detail::sentence_of(Op::name, inputs, result.why);
      detail::named<said>().compiles();
      return detail::refused_outputs<decltype(result.types)>();
    }
  } else {
    value const operands[]{x...};
    auto const v = detail::record(definition<Op>(), &Attributes, operands);
    if constexpr (detail::output_count<Op>() == 1) return v;
    else return detail::erased_outputs(v, detail::output_count<Op>());
  }
}

/// Records an operation on erased handles, with attributes that are known only at run time.
template <class Op>
value record_erased(graph& g, attributes_of<Op> const& attributes, std::vector<value> const& inputs,
                    std::string_view name = {}) {
  return detail::record(g, definition<Op>(), &attributes, inputs, name);
}
template <class Op>
value record_erased(graph& g, attributes_of<Op> const& attributes, std::initializer_list<value> inputs,
                    std::string_view name = {}) {
  return detail::record(g, definition<Op>(), &attributes, std::span<value const>(inputs.begin(), inputs.size()), name);
}

#if RILL_RUNTIME
RILL_INLINE graph& detail::graph_of(value const& first) {
  if (first.graph == nullptr)
    throw error(code::invalid_argument, "an operation needs a value of a graph, but got an empty handle");
  return *first.graph;
}
RILL_INLINE value detail::record(graph& g, op_def const& op, void const* attributes, std::span<value const> inputs,
                                 std::string_view name) try {
  attribute_list list;
  op.encode(attributes, list);
  return g.add(op, std::move(list), {inputs.begin(), inputs.end()}, name);
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE value detail::record(op_def const& op, void const* attributes, std::span<value const> inputs) {
  return record(graph_of(inputs[0]), op, attributes, inputs, {});
}
#endif

}  // namespace rill
