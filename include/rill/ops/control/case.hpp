// case_ runs one of many bodies, which a number or the first true predicate chooses.
#pragma once
#include <utility>

#include "rill/ops/check/check.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/math/add_n.hpp"
#include "rill/ops/math/cast.hpp"

namespace rill {

namespace detail {

template <class Index, class First, class... Rest>
auto case_from(Index index, int k, First const& first, Rest const&... rest) {
  if constexpr (sizeof...(Rest) == 0) return first();
  else {
    ops::branch::attributes at;
    at.number = k;
    at.last = sizeof...(Rest) == 1;
    return record_either(equal(index, like(index, k)), first, [&] { return case_from(index, k + 1, rest...); }, at);
  }
}

}  // namespace detail

/// Runs the branch with the number `index`, from 0; the last branch for every other number. All branches return the
/// same types.
template <operand Index, class... Branches>
  requires(sizeof...(Branches) > 0)
auto case_(Index index, Branches const&... branches) try {
  if constexpr (typed<Index>)
    static_assert(Index::static_type.rank == 0 && dtypes::integers.contains(Index::static_type.element),
                  "case_: the index must be an integer scalar");
  return detail::case_from(index, 0, branches...);
} catch (...) {
  rethrow_as_error();
}

/// The last argument of a case_ by predicates of which at most one may be true.
struct exclusive_predicates {
  explicit exclusive_predicates() = default;
};
/// Says that at most one predicate of a case_ may be true.
inline constexpr exclusive_predicates exclusive{};

namespace detail {

template <class C> inline constexpr bool is_case = false;
template <operand P, class F> inline constexpr bool is_case<std::pair<P, F>> = true;

template <class First, class... Rest> auto case_of(int k, First const& first, Rest const&... rest) {
  if constexpr (sizeof...(Rest) == 0) return first();
  else {
    ops::branch::attributes at;
    at.number = k;
    at.last = sizeof...(Rest) == 1;
    return record_either(first.first, first.second, [&] { return case_of(k + 1, rest...); }, at);
  }
}
template <class... C> auto case_of_pairs(C const&... cases) {
  constexpr bool has_default = !is_case<last_of<C...>>, has_pairs = (is_case<C> + ... + 0) == sizeof...(C) - 1;
  static_assert(has_default, "case_: a branch without predicate must come last, for when no predicate is true");
  static_assert(!has_default || has_pairs,
                "case_: every branch but the last must be a std::pair of predicate and lambda");
  if constexpr (has_default && has_pairs) return case_of(0, cases...);
  else return refused{};
}

/// Returns an operation that fails if several predicates are true.
operation check_exclusive(std::vector<value> const& predicates);

}  // namespace detail

/// Runs the branch of the first predicate that is true, or the last branch, which has none:
///
///     auto y = case_(std::pair{x < 0.f, [&] { return -x; }}, std::pair{x < 1.f, [&] { return x * x; }},
///                    [&] { return x; });
///
/// All branches return the same types. Predicates are scalars of bool, computed before the branch. With `exclusive` as
/// last argument, a step in which several predicates are true fails with error(failed_precondition).
template <class... C>
  requires(sizeof...(C) > 1 && detail::is_case<std::tuple_element_t<0, std::tuple<C...>>>)
auto case_(C const&... cases) try {
  if constexpr (!std::same_as<detail::last_of<C...>, exclusive_predicates>) return detail::case_of_pairs(cases...);
  else
    return [&]<std::size_t... Index>(std::index_sequence<Index...>, auto const& each) {
      std::vector<value> predicates;
      auto const add = [&](auto const& c) {
        if constexpr (detail::is_case<std::remove_cvref_t<decltype(c)>>) predicates.push_back(c.first);
      };
      (add(std::get<Index>(each)), ...);
      auto const checked = detail::check_exclusive(predicates);
      return checked.graph->after({checked}, [&] { return detail::case_of_pairs(std::get<Index>(each)...); });
    }(std::make_index_sequence<sizeof...(C) - 1>{}, std::tie(cases...));
} catch (...) {
  rethrow_as_error();
}

#if RILL_RUNTIME
RILL_INLINE operation detail::check_exclusive(std::vector<value> const& predicates) {
  std::vector<value> counts;
  for (auto const& p : predicates) counts.push_back(cast(p, dtype::int32));
  auto const all = add_n(counts);
  return check(less(all, like(all, 2)), "case_: several predicates are true, and they were said to be exclusive");
}
#endif

}  // namespace rill
