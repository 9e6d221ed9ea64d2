// Where values belong in a sorted vector.
#pragma once
#include <cstddef>
#include <cstdint>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct search_sorted_op {
  using library = void;
  static constexpr std::string_view
      name = "search_sorted",
      doc =
          "for each value how many elements of a sorted vector are less, or `right` not larger; NaN counts as larger "
          "than any number";
  static constexpr std::int8_t arity = 2;
  static constexpr dtypes elements = dtypes::reals;
  struct attributes {
    bool right = false;
    dtype index = dtype::int32;
    static constexpr auto fields(auto const& take) {
      return take(field{"right", &attributes::right}, field{"index", &attributes::index});
    }
  };
  static constexpr type infer(attributes const& a, type const& sorted, type const& x, checks expects = {}) {
    expects(elements.contains(sorted.element), "search_sorted: the operands are not of real numbers; cast them");
    expects(sorted.element == x.element, "search_sorted: the operands have different element types; cast one of them");
    expects(dtypes::indices.contains(a.index), "search_sorted: the indices must be int32 or int64");
    expects(!sorted.has_rank() || sorted.rank == 1, "search_sorted: what is searched is not a vector");
    return x.with(a.index);
  }
  // The indices do not change with the elements.
  template <class V> static std::vector<gradient> grad(gradient_request const&) { return std::vector<gradient>(2); }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns for each x the index before which it can be inserted into a vector in ascending order: how many of the
/// vector's elements are less than x. If the vector is not in ascending order, it is some index of 0 to its extent.
template <element Index = std::int32_t, operand Sorted, operand X> auto search_sorted(Sorted sorted, X x) {
  return record<ops::search_sorted_op, ops::search_sorted_op::attributes{false, dtype_of<Index>}>(sorted, x);
}
/// Returns the index behind equal elements instead: how many of the vector's elements are not larger than x.
template <element Index = std::int32_t, operand Sorted, operand X> auto search_sorted_right(Sorted sorted, X x) {
  return record<ops::search_sorted_op, ops::search_sorted_op::attributes{true, dtype_of<Index>}>(sorted, x);
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/ops/base/share.hpp"

namespace rill::ops {

// Returns for how many elements `before` holds, of a vector that begins with them. std::partition_point does the same,
// but ends a program in libstdc++'s debug mode if the vector is not sorted.
template <class T, class Before> std::ptrdiff_t count_before(T const* sorted, std::ptrdiff_t n, Before const& before) {
  std::ptrdiff_t count = 0;
  while (n > 0)
    if (auto const half = n / 2; before(sorted[count + half])) count += half + 1, n -= half + 1;
    else n = half;
  return count;
}

template <class T> kernel searching(kernel_request const& r, bool right, bool wide) {
  return kernel([n = r.inputs[0][0].extent, count = rill::elements(r.inputs[1].shape()), right,
                 wide](kernel_call const& call) {
    auto const *const sorted = call.in<T>(0), *const x = call.in<T>(1);
    auto const less = [](T a, T b) { return a < b || (b != b && a == a); };
    rill::kernels::share(call.threads, count, 4096, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (auto i = first; i < last; ++i) {
        auto const at = count_before(sorted, n, [&](T each) { return right ? !less(x[i], each) : less(each, x[i]); });
        if (wide) call.out<std::int64_t>(0)[i] = at;
        else call.out<std::int32_t>(0)[i] = static_cast<std::int32_t>(at);
      }
    });
  });
}

inline kernel search_sorted_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  bool const wide = a.index == dtype::int64;
  expects(wide || r.inputs[0][0].extent <= INT32_MAX,
          "search_sorted: the extent of the vector does not fit in int32; ask for int64");
  return visit(r.inputs[0].element, [&]<class T>() -> kernel {
    if constexpr (elements.contains(dtype_of<T>)) return searching<T>(r, a.right, wide);
    else throw error(code::internal, "search_sorted of other elements than real numbers");
  });
}

}  // namespace rill::ops
#endif
