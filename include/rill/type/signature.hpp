// The signature of a function: the types of its arguments and results, and the extents that a call gives to named axes.
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "rill/type/type.hpp"

namespace rill {

/// The types of a function's results and arguments, as a structural value: `function<"fib", of<int>(of<int>)>`.
template <std::size_t Results, std::size_t Arguments> struct signature {
  std::array<type, Results> results;
  std::array<type, Arguments> arguments;
};

/// The result types of a function: `returns(of<int>, of<float>)(of<int>)` is a signature; `returns()`, without results,
/// begins the signature of a function that only updates variables.
template <std::size_t Results> struct result_types {
  std::array<type, Results> types;
  template <std::same_as<type>... Arguments>
  constexpr signature<Results, sizeof...(Arguments)> operator()(Arguments const&... arguments) const {
    return {types, {arguments...}};
  }
};
/// The types that a function returns: `returns(of<float>, of<std::int32_t>)(of<float, 3>)`.
template <std::same_as<type>... Types> constexpr result_types<sizeof...(Types)> returns(Types const&... types) {
  return {{types...}};
}

/// Returns the signature of a function with one result of this type: `of<float>(of<float, "n">, of<int>)`.
template <std::same_as<type>... Arguments>
constexpr signature<1, sizeof...(Arguments)> type::operator()(Arguments const&... arguments) const {
  return {{*this}, {arguments...}};
}

namespace detail {

/// Calls `f` with each given extent whose axis has the name `name` in `arguments`; with `unknown` for a given type of
/// unknown rank.
template <class F>
constexpr void for_each_extent(dim const& name, std::span<type const> arguments, std::span<type const> given, F f) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (std::size_t k = 0; arguments[i].has_rank() && k < arguments[i].rank; ++k)
      if (arguments[i][k] == name) f(given[i].has_rank() ? given[i][k] : unknown);
}

/// Returns the extent that `declared`, an extent of a signature, has in a call: a name of the arguments becomes the
/// extent that was given for it.
constexpr dim extent_in_call(dim const& declared, std::span<type const> arguments, std::span<type const> given) {
  if (!declared.named()) return declared;
  dim found = declared;
  bool first = true;
  for_each_extent(declared, arguments, given, [&](dim const& came) {
    if (first || found == unknown) found = came;
    first = false;
  });
  return found;
}

}  // namespace detail

/// Returns the type that `declared`, a type of a signature, has in a call.
constexpr type type_in_call(type declared, std::span<type const> arguments, std::span<type const> given) {
  if (declared.has_rank())
    for (std::size_t i = 0; i < declared.rank; ++i) declared[i] = detail::extent_in_call(declared[i], arguments, given);
  return declared;
}

/// Whether `given` has the types of the arguments; the two must be equally long.
constexpr bool accepts_call(std::span<type const> arguments, std::span<type const> given) {
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!accepts(arguments[i], given[i])) return false;
  return true;
}
/// Two different extents given for axes of the same name; `name` is empty if there is no clash.
struct clash {
  dim name, one, other;
};
/// Returns the first clash of names among the given types.
constexpr clash clash_of_names(std::span<type const> arguments, std::span<type const> given) {
  clash found;
  for (auto const& t : arguments)
    for (std::size_t k = 0; t.has_rank() && k < t.rank && !found.name.named(); ++k) {
      if (!t[k].named()) continue;
      auto const one = detail::extent_in_call(t[k], arguments, given);
      detail::for_each_extent(t[k], arguments, given, [&](dim const& came) {
        if (came != one && came != unknown && !found.name.named()) found = {t[k], one, came};
      });
    }
  return found;
}
/// Whether all axes of the same name were given the same extent.
constexpr bool names_agree(std::span<type const> arguments, std::span<type const> given) {
  return !clash_of_names(arguments, given).name.named();
}

}  // namespace rill
