// A list of types.
#pragma once
#include <cstddef>

namespace rill {

/// Types in an order; `for_each` calls `f.template operator()<T>()` with each.
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

/// Several lists, one after the other.
template <class... Lists> using join = typename detail::joined<Lists...>::type;

}  // namespace rill
