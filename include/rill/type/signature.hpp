// What a function takes and returns: types of arguments and results, and what a call makes of the axes they name.
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "rill/type/type.hpp"

namespace rill {

/// The types of a function's results and arguments; a structural value: `function<"fib", of<int>(of<int>)>`.
template <std::size_t Results, std::size_t Arguments> struct signature {
  std::array<type, Results> results;
  std::array<type, Arguments> arguments;
};

/// The types of several results: `returns(of<int>, of<float>)(of<int>)` is a signature, and `returns()` of none begins
/// that of a function which only updates.
template <std::size_t Results> struct result_types {
  std::array<type, Results> types;
  template <std::same_as<type>... Arguments>
  constexpr signature<Results, sizeof...(Arguments)> operator()(Arguments const&... arguments) const {
    return {types, {arguments...}};
  }
};
template <std::same_as<type>... Types> constexpr result_types<sizeof...(Types)> returns(Types const&... types) {
  return {{types...}};
}

/// The signature of a function that returns one value of this type: `of<float>(of<float, "n">, of<int>)`.
template <std::same_as<type>... Arguments>
constexpr signature<1, sizeof...(Arguments)> type::operator()(Arguments const&... arguments) const {
  return {{*this}, {arguments...}};
}

namespace detail {

/// An extent of a signature in a call: a name that the arguments have is what was given for it, everywhere the same.
constexpr dim extent_in_call(dim const& declared, std::span<type const> arguments, std::span<type const> given) {
  if (!declared.named()) return declared;
  dim found = unknown;
  bool named = false;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (std::size_t k = 0; arguments[i].has_rank() && k < arguments[i].rank; ++k) {
      if (arguments[i][k] != declared) continue;
      auto const came = given[i].has_rank() ? given[i][k] : unknown;
      found = agree(found, came, "a function's argument has another extent than one whose axis has the same name");
      named = true;
    }
  return named ? found : declared;
}

}  // namespace detail

/// The type in a call of what a signature declares as `declared`.
constexpr type type_in_call(type declared, std::span<type const> arguments, std::span<type const> given) {
  if (declared.has_rank())
    for (std::size_t i = 0; i < declared.rank; ++i)
      declared[i] = detail::extent_in_call(declared[i], arguments, given);
  return declared;
}

/// Refuses what is given for arguments of these types: error(invalid_argument).
constexpr void check_call(std::span<type const> arguments, std::span<type const> given) {
  expects(arguments.size() == given.size(), "a function takes as many values as it was declared with");
  for (std::size_t i = 0; i < given.size(); ++i) {
    expects(accepts(arguments[i], given[i]), "a function's argument is not of the type that it was declared with");
    type_in_call(arguments[i], arguments, given);
  }
}

}  // namespace rill
