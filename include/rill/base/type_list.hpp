// A list of types.
#pragma once
#include <cstddef>

namespace rill {

/// A list of types; `for_each` calls `f.template operator()<T>()` with each type, in order.
template <class... T> struct type_list {
  static constexpr std::size_t size = sizeof...(T);
  template <class F> static constexpr void for_each(F&& f) { (f.template operator()<T>(), ...); }
};

namespace detail {
template <class... Lists> struct joined;
template <class... A> struct joined<type_list<A...>> {
  using type = type_list<A...>;
};
template <class... A, class... B, class... Rest> struct joined<type_list<A...>, type_list<B...>, Rest...> {
  using type = typename joined<type_list<A..., B...>, Rest...>::type;
};
}  // namespace detail

/// The concatenation of several lists.
template <class... Lists> using join = typename detail::joined<Lists...>::type;

}  // namespace rill
