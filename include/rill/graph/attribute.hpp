// Named, typed constants of a node: axes, strides, element types, values.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/program/program.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

struct subgraph;
struct function_definition;

/// The value of an attribute. Programs and bodies are shared and never change; a function belongs to its graph.
using attribute = std::variant<bool, std::int64_t, double, std::string, dtype, type, extents, tensor,
                               std::shared_ptr<program const>, std::vector<std::string>,
                               std::shared_ptr<subgraph const>, std::vector<type>, function_definition const*>;

/// The attributes of a node, in the order in which its operation names them.
using attribute_list = std::vector<std::pair<std::string_view, attribute>>;

/// Whether two attributes are equal; tensors must have the same bits, bodies must be the same object.
bool same(attribute const& a, attribute const& b);

/// An operation without attributes.
struct no_attributes {
  static constexpr auto fields(auto const& take) { return take(); }
  friend constexpr bool operator==(no_attributes, no_attributes) = default;
};

namespace detail {

// The alternative in which an attribute keeps a T: int64 for integers and enumerations, double for floating-point
// numbers, extents for types derived from it.
template <class T> constexpr auto kept_type() {
  if constexpr (std::same_as<T, bool> || std::same_as<T, dtype>) return std::type_identity<T>{};
  else if constexpr (std::integral<T> || std::is_enum_v<T>) return std::type_identity<std::int64_t>{};
  else if constexpr (std::floating_point<T>) return std::type_identity<double>{};
  else if constexpr (std::derived_from<T, extents>) return std::type_identity<extents>{};
  else return std::type_identity<T>{};
}
template <class T> using kept_as = typename decltype(kept_type<T>())::type;

template <class T, class... All> constexpr std::size_t index_among(std::variant<All...> const*) {
  std::size_t i = 0;
  (void)((std::same_as<T, All> || (++i, false)) || ...);
  return i;
}
/// The index of T among the alternatives of an attribute.
template <class T> inline constexpr std::size_t attribute_index = index_among<T>(static_cast<attribute*>(nullptr));
/// Whether an attribute can hold a member of this type.
template <class T> inline constexpr bool can_be_kept = attribute_index<kept_as<T>> < std::variant_size_v<attribute>;

}  // namespace detail

/// Pairs a member of an operation's attributes with its name in the graph.
template <class Owner, class T> struct field {
  static_assert(detail::can_be_kept<T>, "an attribute can't have this type: see rill::attribute");
  std::string_view name;
  T Owner::* member;
};
/// Deduces a field's types from its member.
template <class Owner, class T> field(char const*, T Owner::*) -> field<Owner, T>;

namespace detail {

// These take an index and an address, so that a user's operations need not instantiate the variant.

/// Returns the address of an attribute's value. Throws error(invalid_argument) if the attribute is missing or does not
/// hold alternative `index`.
void const* find_attribute(attribute_list const& list, std::string_view wanted, std::size_t index);
/// Appends a copy of the value at `value`, which has the type of alternative `index`.
void append_attribute(attribute_list& list, std::string_view name, std::size_t index, void const* value);
[[noreturn, gnu::cold]] void refuse_attribute(std::string_view name, std::int64_t v);

template <class T> T const& attribute_as(attribute_list const& list, std::string_view name) {
  return *static_cast<T const*>(find_attribute(list, name, attribute_index<T>));
}

/// Returns the number as a T; throws error(invalid_argument) if T can't hold it.
template <class T> T narrowed(std::int64_t v, std::string_view name) {
  if (!std::in_range<T>(v)) refuse_attribute(name, v);
  return static_cast<T>(v);
}

template <class T> void take_attribute(T& to, attribute_list const& list, std::string_view name) {
  using kept = kept_as<T>;
  auto const& from = attribute_as<kept>(list, name);
  if constexpr (std::is_enum_v<T> && !std::same_as<T, kept>)
    to = static_cast<T>(narrowed<std::underlying_type_t<T>>(from, name));
  else if constexpr (std::integral<T> && !std::same_as<T, kept>) to = narrowed<T>(from, name);
  else if constexpr (std::floating_point<T>) to = static_cast<T>(from);
  else static_cast<kept&>(to) = from;
}

template <class T> void append_attribute(attribute_list& list, std::string_view name, T const& v) {
  using kept = kept_as<T>;
  if constexpr (std::derived_from<T, kept> || std::same_as<T, kept>) {
    append_attribute(list, name, attribute_index<kept>, &static_cast<kept const&>(v));
  } else {
    auto const number = static_cast<kept>(v);
    append_attribute(list, name, attribute_index<kept>, &number);
  }
}

}  // namespace detail

/// Appends an operation's attributes to the list of a node.
template <class Attributes> void encode(Attributes const& a, attribute_list& to) {
  Attributes::fields([&](auto... f) { (detail::append_attribute(to, f.name, a.*(f.member)), ...); });
}
/// Returns an operation's attributes as the list that a node keeps.
template <class Attributes> attribute_list encode(Attributes const& a) {
  attribute_list list;
  encode(a, list);
  return list;
}

/// Returns a node's attributes as its operation reads them. Throws error(invalid_argument) if one is missing or has
/// another type.
template <class Attributes> Attributes decode(attribute_list const& list) {
  Attributes a{};
  Attributes::fields([&](auto... f) { (detail::take_attribute(a.*(f.member), list, f.name), ...); });
  return a;
}

#if RILL_RUNTIME
namespace detail {

RILL_INLINE void const* find_attribute(attribute_list const& list, std::string_view wanted, std::size_t index) {
  for (auto const& [name, value] : list) {
    if (name != wanted) continue;
    if (value.index() != index)
      throw error(code::invalid_argument, "attribute '" + std::string(name) + "' has the wrong type");
    return std::visit([](auto const& v) -> void const* { return &v; }, value);
  }
  throw error(code::invalid_argument, "attribute '" + std::string(wanted) + "' is missing");
}

// A tensor is copied to the host's memory if it lies in a device's: passes and writers of graphs read its elements.
RILL_INLINE void append_attribute(attribute_list& list, std::string_view name, std::size_t index, void const* value) {
  auto const append = [&]<std::size_t Index> {
    if (Index == index)
      list.emplace_back(name, attribute(std::in_place_index<Index>,
                                        *static_cast<std::variant_alternative_t<Index, attribute> const*>(value)));
  };
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (append.template operator()<Index>(), ...);
  }(std::make_index_sequence<std::variant_size_v<attribute>>());
  if (auto* const t = std::get_if<tensor>(&list.back().second)) *t = t->to(host);
}

RILL_INLINE void refuse_attribute(std::string_view name, std::int64_t v) {
  throw error(code::invalid_argument,
              "attribute '" + std::string(name) + "' is " + std::to_string(v) + ", which is out of range");
}

}  // namespace detail

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
