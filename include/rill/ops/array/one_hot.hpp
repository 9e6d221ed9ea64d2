// Class numbers as one-hot rows.
#pragma once
#include "rill/ops/array/index.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"

namespace rill::ops {

struct one_hot_op {
  using library = void;
  static constexpr std::string_view
      name = "one_hot",
      doc = "a row for each index: 1 at the index and 0 elsewhere; only zeros for an index out of range";
  static constexpr std::int8_t arity = 1;
  struct attributes {
    std::int64_t depth = 0;
    dtype element = dtype::float32;
    static constexpr auto fields(auto const& take) {
      return take(field{"depth", &attributes::depth}, field{"element", &attributes::element});
    }
  };
  static constexpr type infer(attributes const& a, type const& which, checks expects = {}) {
    expects(dtypes::indices.contains(which.element), "one_hot: the indices are neither int32 nor int64");
    expects(dtypes::numeric_or_bool.contains(a.element), "one_hot: strings are not supported");
    if (!expects(a.depth >= 0, "one_hot: the depth is negative") || !which.has_rank())
      return type::of_unknown_rank(a.element);
    type y = which.with(a.element);
    y.push_back(a.depth, expects);
    return y;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<attributes>(r.at.attributes);
    index_reader const read(r.inputs[0], a.depth);
    return visit(a.element, [&]<class T>() -> kernel {
      if constexpr (std::same_as<T, std::string>) throw error(code::internal, "one_hot of strings");
      else
        return kernel([read, depth = static_cast<std::size_t>(a.depth)](kernel_call const& call) {
          auto* row = call.out<T>(0);
          std::fill_n(row, read.count() * depth, T(0));
          for (std::size_t i = 0; i < read.count(); ++i, row += depth)
            if (auto const at = read.at(call.in(0), i); at >= 0 && at < static_cast<std::int64_t>(depth))
              row[at] = T(1);
        });
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns a row of `Depth` elements for each index: 1 at the index and 0 elsewhere, as in `one_hot<10>(labels)`. The
/// row of an index out of range is all zeros.
template <std::int64_t Depth, element T = float, operand X> auto one_hot(X which) {
  return record<ops::one_hot_op, ops::one_hot_op::attributes{Depth, dtype_of<T>}>(which);
}
/// Returns the same with a depth known only at run time.
inline value one_hot(value which, std::int64_t depth, dtype element = dtype::float32) {
  return record_erased<ops::one_hot_op>(detail::graph_of(which), {depth, element}, {which});
}

}  // namespace rill
