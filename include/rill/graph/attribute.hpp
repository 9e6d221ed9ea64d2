// Named, typed constants of a node: axes, strides, element types, values.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/program/program.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

struct subgraph;
struct function_definition;

/// What an attribute can be. A program and a body are shared and never change; a function is its graph's.
using attribute = std::variant<bool, std::int64_t, double, std::string, dtype, type, extents, tensor,
                               std::shared_ptr<program const>, std::vector<std::string>,
                               std::shared_ptr<subgraph const>, std::vector<type>, function_definition const*>;

/// The attributes of a node, in the order in which its operation names them.
using attribute_list = std::vector<std::pair<std::string_view, attribute>>;

/// Whether two attributes say the same (tensors: the same bits).
bool same(attribute const& a, attribute const& b);

/// An operation without attributes.
struct no_attributes {
  static constexpr auto fields(auto const& take) { return take(); }
  friend constexpr bool operator==(no_attributes, no_attributes) = default;
};

/// A member of an operation's attributes and its name in the graph.
template <class Owner, class T> struct field {
  std::string_view name;
  T Owner::* member;
};
template <class Owner, class T> field(char const*, T Owner::*) -> field<Owner, T>;

namespace detail {

template <class T> attribute to_attribute(T const& v) {
  if constexpr (std::is_enum_v<T> && !std::same_as<T, dtype>) return static_cast<std::int64_t>(v);
  else if constexpr (std::integral<T> && !std::same_as<T, bool>) return static_cast<std::int64_t>(v);
  else if constexpr (std::floating_point<T>) return static_cast<double>(v);
  else if constexpr (std::derived_from<T, extents>) return static_cast<extents const&>(v);
  else return v;
}

/// The number as a T; error(invalid_argument) if T can't hold it.
template <class T> T narrowed(std::int64_t v, std::string_view name) {
  if (!std::in_range<T>(v))
    throw error(code::invalid_argument,
                "attribute '" + std::string(name) + "' is " + std::to_string(v) + ", which is out of range");
  return static_cast<T>(v);
}

template <class T> void from_attribute(T& to, attribute const& from, std::string_view name) {
  auto const get = [&]<class A>(A const*) -> A const& {
    if (auto* v = std::get_if<A>(&from)) return *v;
    throw error(code::invalid_argument, "attribute '" + std::string(name) + "' has the wrong type");
  };
  if constexpr (std::is_enum_v<T> && !std::same_as<T, dtype>)
    to = static_cast<T>(narrowed<std::underlying_type_t<T>>(get((std::int64_t*)nullptr), name));
  else if constexpr (std::integral<T> && !std::same_as<T, bool>) to = narrowed<T>(get((std::int64_t*)nullptr), name);
  else if constexpr (std::floating_point<T>) to = static_cast<T>(get((double*)nullptr));
  else if constexpr (std::derived_from<T, extents>) static_cast<extents&>(to) = get((extents*)nullptr);
  else to = get(static_cast<T*>(nullptr));
}

}  // namespace detail

/// An operation's attributes as a node keeps them.
template <class Attributes> attribute_list encode(Attributes const& a) {
  attribute_list list;
  Attributes::fields([&](auto... f) { (list.emplace_back(f.name, detail::to_attribute(a.*(f.member))), ...); });
  return list;
}

namespace detail {

/// The attribute of that name; error(invalid_argument) if it is missing.
attribute const& find_attribute(attribute_list const& list, std::string_view wanted);

}  // namespace detail

/// A node's attributes as its operation reads them; error(invalid_argument) if one is missing or of another type.
template <class Attributes> Attributes decode(attribute_list const& list) {
  Attributes a{};
  Attributes::fields(
      [&](auto... f) { (detail::from_attribute(a.*(f.member), detail::find_attribute(list, f.name), f.name), ...); });
  return a;
}

#if RILL_RUNTIME
RILL_INLINE attribute const& detail::find_attribute(attribute_list const& list, std::string_view wanted) {
  for (auto const& [name, value] : list)
    if (name == wanted) return value;
  throw error(code::invalid_argument, "attribute '" + std::string(wanted) + "' is missing");
}

RILL_INLINE bool same(attribute const& a, attribute const& b) {
  if (a.index() != b.index()) return false;
  if (auto* t = std::get_if<tensor>(&a)) return same_bits(*t, std::get<tensor>(b));
  if (auto* p = std::get_if<std::shared_ptr<program const>>(&a))
    return *p == std::get<std::shared_ptr<program const>>(b) || **p == *std::get<std::shared_ptr<program const>>(b);
  return std::visit(  // bodies: the same one
      [&]<class T>(T const& v) {
        if constexpr (requires { v == v; } && !std::same_as<T, tensor>) return v == std::get<T>(b);
        else return false;
      },
      a);
}
#endif

}  // namespace rill
