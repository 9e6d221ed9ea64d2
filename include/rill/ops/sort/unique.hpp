// The different elements of a vector.
#pragma once
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "rill/ops/sort/sort.hpp"

namespace rill::ops {

struct unique_op {
  using library = void;
  static constexpr std::string_view
      name = "unique",
      doc =
          "of the different elements of a vector, in ascending order: where each occurs first, which of them each "
          "element is, and how often each occurs";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 3;
  static constexpr bool dynamic_output_shape = true;
  static constexpr dtypes elements = dtypes::reals | dtype::string;
  static constexpr std::array<type, 3> infer(no_attributes, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "unique: the operand is neither of real numbers nor of strings");
    expects(!x.has_rank() || x.rank == 1, "unique: the operand is not a vector; reshape it");
    type const some{dtype::int64, {unknown}};
    return {some, {dtype::int64, {x.rank == 1 ? x[0] : unknown}}, some};
  }
  // The indices do not change with the elements.
  template <class V> static std::vector<gradient> grad(gradient_request const&) { return std::vector<gradient>(1); }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// The different elements of a vector in ascending order, for each element of the vector its index among them, and how
/// often each occurs.
template <class Values, class Inverse, class Counts> struct unique_elements {
  Values values;
  Inverse inverse;
  Counts counts;
};

/// Returns the different elements of a vector, NaN last: `auto [values, inverse, counts] = unique(x)`, where
/// `gather(values, inverse)` is x. Their number is known only when the step runs; nodes that depend on it are deferred.
template <operand X> auto unique(X x) {
  if constexpr (typed<X>) detail::provide_kernels<ops::sort_op, X::static_type.element>();
  auto const parts = record<ops::unique_op>(x);
  if constexpr (typed<X>) {
    auto const [first, inverse, counts] = parts;
    return unique_elements{gather(x, first), inverse, counts};
  } else return unique_elements{value(gather(x, parts[0])), parts[1], parts[2]};
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/ops/sort/sort_kernels.hpp"

namespace rill::ops {

/// Returns the indices of the elements in ascending order; equal elements keep their order.
inline std::vector<std::int64_t> ascending(dtype d, void const* x, std::int64_t n, parallel const& threads) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  if (d == dtype::string) {
    auto const* const words = static_cast<std::string const*>(x);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
      auto const compared = words[a].compare(words[b]);
      return compared < 0 || (compared == 0 && a < b);
    });
  } else if (n > 0) {
    rill::kernels::sort_lines l{1, n, 1, n, 1};
    l.wide = true;
    std::vector<std::uint64_t> values(static_cast<std::size_t>(n)), scratch(sort_scratch(l, d) / 8 + 1);
    kernels_of<sort_op>(d).run[static_cast<std::size_t>(d)](l, x, values.data(), order.data(), scratch.data(), threads);
  }
  return order;
}

inline kernel unique_op::cpu(kernel_request const& r) {
  auto const n = r.inputs[0][0].extent;
  expects(n <= INT32_MAX, "unique: the vector has more than 2147483647 elements");
  return visit(r.inputs[0].element, [&]<class T>() -> kernel {
    if constexpr (!elements.contains(dtype_of<T>)) throw error(code::internal, "unique of other elements");
    else {
      kernel k([n, memory = r.memory](kernel_call const& call) {
        auto const* const x = call.in<T>(0);
        auto const order = ascending(dtype_of<T>, x, n, call.threads);
        auto const same = [](T const& a, T const& b) { return a == b || (a != a && b != b); };
        std::vector<std::int64_t> first, counts;
        tensor inverse(dtype::int64, shape{n}, *memory);
        auto* const which = inverse.mutable_data<std::int64_t>();
        for (auto const i : order) {
          if (first.empty() || !same(x[first.back()], x[i])) first.push_back(i), counts.push_back(0);
          ++counts.back();
          which[i] = static_cast<std::int64_t>(first.size()) - 1;
        }
        auto const given = [&](std::vector<std::int64_t> const& list) {
          tensor t(dtype::int64, shape{static_cast<std::int64_t>(list.size())}, *memory);
          std::copy(list.begin(), list.end(), t.mutable_data<std::int64_t>());
          return t;
        };
        call.give(0, given(first));
        call.give(1, std::move(inverse));
        call.give(2, given(counts));
      });
      k.allocates_outputs = true;
      return k;
    }
  });
}

}  // namespace rill::ops
#endif
