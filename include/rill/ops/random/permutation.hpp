// Integers and rows in random order: Shuffle in the white paper (section 2, table 1).
#pragma once
#include "rill/ops/random/drawing.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill::ops {

struct permutation_op {
  using library = void;
  static constexpr std::string_view name = "permutation",
                                    doc = "the integers from 0 up to a count, or the rows of x, in random order";
  static constexpr std::int8_t arity = -2;
  static constexpr std::uint32_t shape_only = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  static constexpr std::string_view draws_random = "key";
  struct attributes {
    std::int64_t count = 0;
    dtype index = dtype::int32;
    std::int64_t key = 0;
    static constexpr auto fields(auto const& take) {
      using a = attributes;
      return take(field{"count", &a::count}, field{"index", &a::index}, field{"key", &a::key});
    }
  };
  /// For int32 and int64.
  struct kernels {
    void (*narrow)(random_stream const&, void* to, std::size_t n) = nullptr;
    void (*wide)(random_stream const&, void* to, std::size_t n) = nullptr;
  };
  static constexpr type infer(attributes const& a, std::span<type const> rows_of, checks expects = {}) {
    expects(dtypes::indices.contains(a.index), "permutation: the numbers are int32 or int64");
    expects(a.count >= 0, "permutation: the count is negative");
    expects(rows_of.size() <= 1, "permutation: it takes at most one operand, whose rows it counts");
    if (rows_of.empty()) return {a.index, {a.count}};
    expects(!rows_of[0].has_rank() || rows_of[0].rank > 0, "permutation: a scalar has no rows");
    return {a.index, {rows_of[0].has_rank() ? rows_of[0][0] : unknown}};
  }
  // The order does not depend on the elements.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return std::vector<gradient>(r.inputs());
  }
#if RILL_KERNELS
  template <class Index> static void run(random_stream const& s, void* to, std::size_t n) {
    rill::kernels::fill_permutation(s, static_cast<Index*>(to), n);
  }
  static constexpr kernels make_kernels() { return {run<std::int32_t>, run<std::int64_t>}; }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<attributes>(r.at.attributes);
    auto const n = r.outputs[0][0].extent;
    expects(a.index == dtype::int64 || n <= INT32_MAX, "permutation: the count does not fit in int32; ask for int64");
    auto const& all = kernels_of<permutation_op>();
    auto const run = a.index == dtype::int32 ? all.narrow : all.wide;
    random_stream const stream{random_stream::key_of(r.seed, static_cast<std::uint64_t>(a.key)), 0};
    return kernel([=](kernel_call const& call) {
      run({stream.key, call.step.stream}, call.out(0), static_cast<std::size_t>(n));
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns the integers 0, 1, …, count - 1 in random order, as int32 or int64; all orders are equally likely.
inline value permutation(graph& g, std::int64_t count, dtype index = dtype::int32) {
  return record_erased<ops::permutation_op>(g, {count, index, detail::random_key(g)}, {});
}
/// Returns the same with a static type: `permutation<10>(g)`, `permutation<10, std::int64_t>(g)`.
template <std::int64_t Count, element Index = std::int32_t> expr<of<Index, Count>> permutation(graph& g) {
  static_assert(dtypes::indices.contains(dtype_of<Index>), "permutation: the numbers are int32 or int64");
  static_assert(Count >= 0, "permutation: the count is negative");
  return {permutation(g, Count, dtype_of<Index>)};
}

/// Returns the indices of the rows of x in random order, as int64: use them with gather to shuffle several values
/// alike.
template <operand X> auto permutation_of_rows(X x) {
  auto& g = detail::graph_of(x);
  value const drawn = record_erased<ops::permutation_op>(g, {0, dtype::int64, detail::random_key(g)}, {x});
  if constexpr (typed<X>) {
    constexpr ops::permutation_op::attributes of_rows{0, dtype::int64};
    return expr<detail::result_types<ops::permutation_op, of_rows, X>()>{drawn};
  } else return drawn;
}

/// Returns the rows of x in random order, drawn anew in every step.
template <operand X> auto shuffle(X x) { return gather(x, permutation_of_rows(x)); }

}  // namespace rill
