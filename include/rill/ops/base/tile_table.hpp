// The tile functions of an elementwise operation, by element type.
#pragma once
#include <array>

#include "rill/program/program.hpp"
#include "rill/type/dtype.hpp"

namespace rill {

/// Tile functions by the element type of the last operand; and functions that also compute the next operation in the
/// same pass.
struct tile_table {
  std::array<tile_function, dtype_count> tile{}, joined{};
};

namespace detail {

/// An operation that names another operation, `then`, which often follows it: z = x * y + …, tanh(x) * …
template <class Op>
concept leads_to_another = requires { typename Op::then; };

/// Both operations in one pass, for float and double. Nothing is contracted: the bits are the same as in two passes.
template <leads_to_another Op> struct in_one_pass {
  static_assert(Op::then::commutes, "either operand may be the one that was computed before");
  static constexpr std::int8_t arity = Op::arity + 1;
  static constexpr dtypes elements = dtypes{dtype::float32} | dtype::float64;
  template <class S> static S apply(S x, S more) { return Op::then::apply(Op::apply(x), more); }
  template <class S> static S apply(S x, S y, S more) { return Op::then::apply(Op::apply(x, y), more); }
};

}  // namespace detail

namespace kernels {
/// Whether this translation unit includes elementwise_kernels.hpp, which defines `tiles`.
template <class Op> inline constexpr bool have_loops = false;
/// Returns the tile functions of an elementwise operation for some element types.
template <class Op, dtypes Set> constexpr tile_table tiles();
}  // namespace kernels

}  // namespace rill
