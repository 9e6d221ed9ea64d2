// rill::function: a named, typed part of a graph that is called like an operation.
#pragma once
#include <array>
#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/base/fixed_string.hpp"
#include "rill/ops/control/call.hpp"

namespace rill {

namespace detail {

/// The handle of a call's result of this type; an erased result stays erased.
template <class Result, type Type> struct handle_in_call {
  using handle = value;
};
template <typed Result, type Type> struct handle_in_call<Result, Type> {
  using handle = expr<Type>;
};
template <auto Types, std::size_t Index> inline constexpr type type_at = Types[Index];

template <auto Types, class Result> auto handles_in_call(std::type_identity<Result>) {
  return std::type_identity<typename handle_in_call<Result, type_at<Types, 0>>::handle>{};
}
template <auto Types, class... Result> auto handles_in_call(std::type_identity<std::tuple<Result...>>) {
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::type_identity<std::tuple<typename handle_in_call<Result, type_at<Types, Index>>::handle...>>{};
  }(std::index_sequence_for<Result...>{});
}

/// Returns the types of typed results; an erased result is compatible with every type.
template <class Result> struct types_of_handles {
  static constexpr std::array<type, 1> value{type::of_unknown_rank(dtype::float32)};
};
template <typed Result> struct types_of_handles<Result> {
  static constexpr std::array<type, 1> value{Result::static_type};
};
template <class... Result> struct types_of_handles<std::tuple<Result...>> {
  static constexpr std::array<type, sizeof...(Result)> value{types_of_handles<Result>::value[0]...};
};

/// Returns the types of a call's results.
template <std::size_t R, std::size_t A>
constexpr std::array<type, R> types_in_call(std::array<type, R> results, std::array<type, A> const& declared,
                                            std::array<type, A> const& given) {
  for (auto& t : results) {
    for (std::size_t i = 0; t.has_rank() && i < t.rank; ++i) {
      bool of_an_argument = !t[i].named();
      for_each_extent(t[i], declared, given, [&](dim const&) { of_an_argument = true; });
      if (!of_an_argument) t[i] = unknown;  // the body's own
    }
    t = type_in_call(t, declared, given);
  }
  return results;
}

/// Erases the results of a call with erased arguments.
template <class Result> struct erased_handles {
  using type = Result;
};
template <typed Result> struct erased_handles<Result> {
  using type = value;
};
template <class... Result> struct erased_handles<std::tuple<Result...>> {
  using type = std::tuple<typename erased_handles<Result>::type...>;
};

}  // namespace detail

/// A function of a graph. Copies refer to the same function. A call is recorded where the graph currently records, also
/// in bodies and other functions.
template <class Result, type... Arguments> class graph_function {
 public:
  graph_function(graph& g, function_definition const& f) : graph_(&g), definition_(&f) {}

  /// Records a call: typed arguments give typed results. An axis name in several arguments means one extent in each
  /// call. Erased arguments are checked when the call is recorded and give erased results.
  template <operand... X> auto operator()(X... x) const try {
    constexpr bool for_each_argument = sizeof...(X) == sizeof...(Arguments);
    static_assert(for_each_argument, "a function must be called with the declared number of arguments");
    if constexpr (for_each_argument) {
      auto const made = [&] { return detail::record_call(*graph_, *definition_, {x...}); };
      if constexpr ((typed<X> && ...)) {
        constexpr std::array<type, sizeof...(X)> given{X::static_type...};
        constexpr bool fits = accepts_call(declared, given), agree = names_agree(declared, given);
        if constexpr (!fits) {
          constexpr auto said =
              detail::sentence_of_signatures("a function's argument does not have the declared type", given, declared);
          detail::named<said>().compiles();
        } else if constexpr (!agree) {
          constexpr auto said = detail::sentence_of_signatures(
              "axes with the same name have different extents in a function's arguments", given, declared);
          detail::named<said>().compiles();
        }
        if constexpr (std::same_as<Result, std::tuple<>>) return operation(made());
        else if constexpr (fits && agree) {
          constexpr auto types = detail::types_in_call(detail::types_of_handles<Result>::value, declared, given);
          return detail::handles_from<typename decltype(detail::handles_in_call<types>(
              std::type_identity<Result>{}))::type>(made());
        }
      } else if constexpr (std::same_as<Result, std::tuple<>>) return operation(made());
      else return detail::handles_from<typename detail::erased_handles<Result>::type>(made());
    }
  } catch (...) {
    rethrow_as_error();
  }

  std::string const& name() const { return definition_->name; }
  function_definition const& definition() const { return *definition_; }

 private:
  static constexpr std::array<type, sizeof...(Arguments)> declared{Arguments...};
  graph* graph_;
  function_definition const* definition_;
};

namespace detail {

template <class T> inline constexpr bool is_signature = false;
template <std::size_t R, std::size_t A> inline constexpr bool is_signature<signature<R, A>> = true;

template <auto Signature, std::size_t Index> inline constexpr type argument_of = Signature.arguments[Index];
template <auto Signature, std::size_t... R> auto declared_handles(std::index_sequence<R...>) {
  if constexpr (sizeof...(R) == 1) return std::type_identity<expr<Signature.results[0]>>{};
  else return std::type_identity<std::tuple<expr<Signature.results[R]>...>>{};
}
/// Whether a lambda's results match the handles that a signature declares; erased results are checked later.
template <class Declared, class Returned> constexpr bool may_return() {
  if constexpr (typed<Declared> && typed<Returned>) return accepts(Declared::static_type, Returned::static_type);
  else return operand<Declared> && operand<Returned>;
}
template <class Declared, class Returned> struct returns_as_declared {
  static constexpr bool value = may_return<Declared, Returned>();
};
template <class... Declared, class... Returned>
  requires(sizeof...(Declared) == sizeof...(Returned))
struct returns_as_declared<std::tuple<Declared...>, std::tuple<Returned...>> {
  static constexpr bool value = (may_return<Declared, Returned>() && ...);
};

void check_name(std::string_view name);

template <type... Arguments, class F>
auto function_without_self(graph& g, std::string_view name, F const& f, depth_limit most) {
  using Result = typename handle_outside<std::remove_cvref_t<decltype(f(expr<Arguments>{}...))>>::type;
  static_assert(
      !std::same_as<Result, erased_results>,
      "function: a lambda that returns a vector of values belongs to a function that is declared at run time");
  auto const record = [&](function_definition const&, std::vector<value> const& in) {
    std::size_t i = 0;
    auto const handles = std::tuple{expr<Arguments>{in[i++]}...};
    return std::apply([&](auto const&... x) { return results_of(f, x...); }, handles);
  };
  return graph_function<Result, Arguments...>(
      g, record_function(g, {.name = std::string(name), .arguments = {Arguments...}, .most = most}, record));
}

template <auto Signature, class F, std::size_t... A>
auto function_with_self(graph& g, std::string_view name, F const& f, depth_limit most, std::index_sequence<A...>) {
  using Result =
      typename decltype(declared_handles<Signature>(std::make_index_sequence<Signature.results.size()>{}))::type;
  using Function = graph_function<Result, argument_of<Signature, A>...>;
  constexpr bool knows_itself = std::invocable<F const&, Function const&, expr<argument_of<Signature, A>>...>;
  auto const run = [&](Function const& self, auto const&... x) {
    if constexpr (knows_itself) return f(self, x...);
    else return f(x...);
  };
  using Returned = typename handle_outside<
      std::remove_cvref_t<decltype(run(std::declval<Function>(), expr<argument_of<Signature, A>>{}...))>>::type;
  if constexpr (!returns_as_declared<Result, Returned>::value) {
    constexpr auto said = sentence_of_handles<Returned, Result>(
        "function: the lambda must return what the function is declared to return");
    named<said>().compiles();
  }
  function_recorder const body = [&](function_definition const& self, std::vector<value> const& in) {
    return results_of(run, Function(g, self), expr<argument_of<Signature, A>>{in[A]}...);
  };
  function_request declared{.name = std::string(name),
                            .arguments = {argument_of<Signature, A>...},
                            .results = std::vector<type>(Signature.results.begin(), Signature.results.end()),
                            .most = most};
  return Function(g, record_function(g, std::move(declared), body));
}

template <auto... Types> constexpr bool are_one_signature() {
  if constexpr (sizeof...(Types) == 1) return (is_signature<std::remove_const_t<decltype(Types)>> && ...);
  else return false;
}

}  // namespace detail

/// Defines a function of the graph and returns an object that calls it:
///
///     auto swish = function<"swish", of<float, "n">>(g, [](auto x) { return x * sigmoid(x); });
///     auto y = swish(x);
///
/// with the types of its arguments, or with a signature if it is recursive:
///
///     auto fib = function<"fib", of<int>(of<int>)>(g, [](auto self, auto n) {
///       return cond(n < 2, [&] { return n; }, [&] { return self(n - 1) + self(n - 2); });
///     });
///
/// The lambda returns a handle, a tuple of handles, or nothing. Values captured from outside are passed to each call;
/// variables are read and updated when a call runs. Defining the same function again returns the first one; throws
/// error(invalid_argument) if another function has the name. A step fails with error(resource_exhausted) if calls are
/// nested deeper than `most`.
template <fixed_string Name, auto... Types, class F> auto function(graph& g, F const& f, depth_limit most = {}) try {
  constexpr bool has_signature = detail::are_one_signature<Types...>();
  constexpr bool has_types = has_signature || (std::is_same_v<std::remove_const_t<decltype(Types)>, type> && ...);
  static_assert(has_types,
                "function: it is declared by the types of its arguments, or by one signature: of<int>(of<int>)");
  detail::check_name(Name);
  if constexpr (has_signature)
    return detail::function_with_self<Types...>(g, Name, f, most,
                                                std::make_index_sequence<(Types.arguments.size() + ...)>{});
  else if constexpr (has_types) return detail::function_without_self<Types...>(g, Name, f, most);
  else return [](auto const&...) { return detail::refused{}; };
} catch (...) {
  rethrow_as_error();
}

/// The body of a function whose types are known only at run time.
using erased_body = std::function<std::vector<value>(std::vector<value> const& arguments)>;

/// Defines a function with types known only at run time; `call` calls it. If its result types are declared, it may call
/// itself by name.
function_definition const& function(graph& g, std::string_view name, std::vector<type> arguments,
                                    erased_body const& body, depth_limit most = {});
function_definition const& function(graph& g, std::string_view name, std::vector<type> arguments,
                                    std::vector<type> returned, erased_body const& body, depth_limit most = {});

#if RILL_RUNTIME
RILL_INLINE void detail::check_name(std::string_view name) {
  if (name.empty() || name.find_first_of("/:") != std::string_view::npos)
    throw error(code::invalid_argument, "a function's name has at least one character, and neither '/' nor ':', not '" +
                                            std::string(name) + "'");
}
RILL_INLINE function_definition const& function(graph& g, std::string_view name, std::vector<type> arguments,
                                                erased_body const& body, depth_limit most) try {
  detail::check_name(name);
  return record_function(g, {.name = std::string(name), .arguments = std::move(arguments), .most = most},
                         [&](function_definition const&, std::vector<value> const& given) { return body(given); });
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE function_definition const& function(graph& g, std::string_view name, std::vector<type> arguments,
                                                std::vector<type> returned, erased_body const& body,
                                                depth_limit most) try {
  detail::check_name(name);
  return record_function(
      g, {.name = std::string(name), .arguments = std::move(arguments), .results = std::move(returned), .most = most},
      [&](function_definition const&, std::vector<value> const& given) { return body(given); });
} catch (...) {
  rethrow_as_error();
}
#endif

}  // namespace rill
