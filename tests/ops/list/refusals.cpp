// Operations that refuse their operands while a program compiles: whatever the operands and the attributes are, the
// inference goes on to its end, so that the compiler prints the sentence and not where the inference went wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <random>
#include <vector>

#include "rill/ops/list/operations.hpp"

namespace rill {
namespace {

using generator = std::minstd_rand;

std::size_t below(generator& g, std::size_t n) { return g() % n; }

std::int64_t any_number(generator& g) {
  constexpr std::int64_t numbers[] = {INT64_MIN, -9, -2, -1, 0, 1, 2, 3, 4, 9, 65537, INT32_MAX, INT64_MAX};
  return below(g, 3) > 0 ? static_cast<std::int64_t>(below(g, 4)) : numbers[below(g, std::size(numbers))];
}

dim any_extent(generator& g) {
  dim const extents[] = {0, 1, 2, 3, 7, 64, INT32_MAX, INT64_MAX, "n", "m", unknown};
  return below(g, 2) > 0 ? extents[1 + below(g, 3)] : extents[below(g, std::size(extents))];
}

type any_type(generator& g) {
  constexpr dtype few[] = {dtype::float32, dtype::int64};
  auto const element = below(g, 3) > 0 ? few[below(g, 2)] : static_cast<dtype>(below(g, dtype_count));
  type t(element);
  auto const rank = below(g, max_rank + 2);
  if (rank > max_rank) return type::of_unknown_rank(element);
  while (t.rank < rank) t.push_back(any_extent(g));
  return t;
}

/// Sets an attribute of one of the kinds that the types of operands may clash with.
template <class T> void set_any(generator& g, T& to) {
  if constexpr (std::same_as<T, bool>) to = below(g, 2) > 0;
  else if constexpr (std::same_as<T, dtype>) to = static_cast<dtype>(below(g, dtype_count));
  else if constexpr (std::integral<T>) to = static_cast<T>(any_number(g));
  else if constexpr (std::same_as<T, type>) to = any_type(g);
  else if constexpr (std::floating_point<T>) to = static_cast<T>(any_number(g));
  else if constexpr (std::derived_from<T, extents>) {
    static_cast<extents&>(to) = {};
    for (auto n = below(g, max_rank + 1); n > 0; --n) to.push_back(any_number(g));
  }
}

template <class Attributes> Attributes any_attributes(generator& g) {
  Attributes a{};
  if (below(g, 4) > 0)
    Attributes::fields([&](auto... f) { ((below(g, 2) > 0 ? set_any(g, a.*(f.member)) : void()), ...); });
  return a;
}

std::vector<type> any_operands(generator& g, std::int8_t arity) {
  std::vector<type> all;
  auto const count = arity < 0 ? 1 + below(g, 3) : static_cast<std::size_t>(arity);
  while (all.size() < count) all.push_back(!all.empty() && below(g, 2) > 0 ? all.back() : any_type(g));
  return all;
}

/// Whether the operation's refusals are sentences of the compiler: its inference takes `checks`.
template <class Op> constexpr bool checks_while_compiling() {
  using A = attributes_of<Op>;
  if constexpr (Op::arity == 1) {
    if (requires(A const& a, type const& t, checks c) { Op::infer(a, t, c); }) return true;
  } else if constexpr (Op::arity == 2) {
    if (requires(A const& a, type const& t, checks c) { Op::infer(a, t, t, c); }) return true;
  } else if constexpr (Op::arity == 3) {
    if (requires(A const& a, type const& t, checks c) { Op::infer(a, t, t, t, c); }) return true;
  } else if constexpr (Op::arity == 4) {
    if (requires(A const& a, type const& t, checks c) { Op::infer(a, t, t, t, t, c); }) return true;
  }
  return requires(A const& a, std::span<type const> all, checks c) { Op::infer(a, all, c); };
}

template <class Op> void refuse_some() {
  generator g;
  for (int i = 0; i < 4000; ++i) {
    auto const operands = any_operands(g, Op::arity);
    auto const a = any_attributes<attributes_of<Op>>(g);
    try {
      detail::infer_or_refuse<Op>(a, operands);
    } catch (error const& e) {
      ADD_FAILURE() << Op::name << text_of(operands) << " throws: " << e.message();
      return;
    }
  }
}

/// Whether the compiler gets to the end for these operands, the last of them repeated. g++ refuses to read extents
/// beyond the rank of a template argument.
template <class Op, type... T> consteval bool end_for() {
  constexpr std::array<type, sizeof...(T)> given{T...};
  std::array < type, Op::arity<0 ? 2 : static_cast<std::size_t>(Op::arity)> operands;
  for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = given[std::min(i, sizeof...(T) - 1)];
  detail::infer_or_refuse<Op>(attributes_of<Op>{}, std::span<type const>(operands));
  return true;
}

TEST(refusals, are_sentences_whatever_the_ranks) {
  operations::for_each([]<class Op> {
    if constexpr (checks_while_compiling<Op>() &&
                  requires { typename std::bool_constant<(attributes_of<Op>{}, true)>; }) {
      static_assert(end_for<Op, of<float>>() && end_for<Op, of<float, 2>>() && end_for<Op, of<float, 2, 2, 2>>() &&
                    end_for<Op, of<float, 2, 2, 2, 2, 2>>() && end_for<Op, of<float, 2, 2, 2, 2>, of<float, 2>>() &&
                    end_for<Op, of<std::int32_t>, of<std::int32_t, 2>>());
    }
  });
}

TEST(refusals, go_on_to_the_end_of_the_inference) {
  operations::for_each([]<class Op> {
    if constexpr (checks_while_compiling<Op>()) refuse_some<Op>();
  });
}

}  // namespace
}  // namespace rill
