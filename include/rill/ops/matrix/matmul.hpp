// Products of matrices, and of batches of them.
#pragma once
#include <algorithm>
#include <atomic>

#include "rill/ops/array/reshape.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/matrix/batch_axes.hpp"

namespace rill {

/// Which operands of a matrix product to transpose first: `matmul<transposed{.b = true}>(x, y)`.
struct transposed {
  bool a = false, b = false;
  static constexpr auto fields(auto const& take) {
    return take(field{"transpose_a", &transposed::a}, field{"transpose_b", &transposed::b});
  }
};

namespace ops {

/// A matrix product on raw pointers: extents, operands with row and column strides, result, scratch.
struct matmul_call {
  std::ptrdiff_t m, n, k;
  void const* a;
  std::ptrdiff_t a_row, a_column;
  void const* b;
  std::ptrdiff_t b_row, b_column;
  void* c;
  void* scratch;
  rill::kernels::batch_axes const* summed;  ///< further products that are added
};

/// Returns the extent of an axis counted from the end: 1 is the last one.
constexpr dim extent_from_end(type const& x, std::size_t from_end) {
  return x.has_rank() && x.rank >= from_end ? x[x.rank - from_end] : unknown;
}

struct matmul_op {
  using library = void;
  static constexpr std::string_view
      name = "matmul",
      doc =
          "the product of two matrices, or of two batches of matrices that broadcast, each optionally transposed "
          "first; integers wrap, 16-bit floats are summed as float32";
  static constexpr std::int8_t arity = 2;
  static constexpr dtypes elements = dtypes::numbers, common = common_floats;
  using attributes = transposed;
  struct kernels {
    std::array<std::size_t (*)(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, int threads), dtype_count>
        scratch{};
    std::array<void (*)(matmul_call const&, parallel const&), dtype_count> run{};
  };
  static constexpr type infer(transposed const& t, type const& a, type const& b, checks expects = {}) {
    expects(a.element == b.element, "matmul: the operands have different element types; cast one of them");
    expects(elements.contains(a.element), "matmul: the operands are not numbers");
    expects((!a.has_rank() || a.rank >= 2) && (!b.has_rank() || b.rank >= 2), "matmul: an operand is not a matrix");
    agree(extent_from_end(a, t.a ? 2 : 1), extent_from_end(b, t.b ? 1 : 2),
          "matmul: the columns of the first are not the rows of the second", expects);
    type y =
        a.has_rank() && b.has_rank() ? broadcast(batch_of(a), batch_of(b), expects) : type::of_unknown_rank(a.element);
    if (!y.has_rank()) return y;
    y.push_back(extent_from_end(a, t.a ? 1 : 2));
    y.push_back(extent_from_end(b, t.b ? 2 : 1));
    return y;
  }
  static cost work(transposed const& t, std::span<type const> in, std::span<type const> out) {
    cost c{0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
    if (in[0].is_known() && out[0].is_known())
      c.flops = 2 * static_cast<double>(rill::elements(out[0].shape())) *
                static_cast<double>(extent_from_end(in[0], t.a ? 2 : 1).extent);
    return c;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r);

 private:
  // The axes of the batch.
  static constexpr type batch_of(type const& x) {
    type y{x.element};
    for (std::size_t i = 0; i + 2 < x.rank; ++i) y.push_back(x[i]);
    return y;
  }

 public:
  template <class T> static void run(matmul_call const& c, parallel const& threads);
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

/// The derivatives of products of batches: products are summed at once and never stored.
struct matmul_like_op {
  using library = void;
  static constexpr std::string_view
      name = "matmul_like",
      doc = "the product of two batches of matrices, summed to the extents of the third operand";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b100;
  static constexpr dtypes elements = matmul_op::elements;
  using attributes = transposed;
  static constexpr type infer(transposed const& t, type const& a, type const& b, type const& like,
                              checks expects = {}) {
    type const whole = matmul_op::infer(t, a, b, expects);
    expects(!like.has_rank() || like.rank >= 2, "matmul_like: the third value is not a matrix or a batch of them");
    if (!whole.has_rank() || !like.has_rank()) return like.with(a.element);
    bool fits = like.rank <= whole.rank;
    for (std::size_t i = 1; fits && i <= whole.rank; ++i) {
      auto const of = [&](type const& x) { return i <= x.rank ? extent_from_end(x, i) : dim(1); };
      bool const both = i > 2 && may_equal(of(a), of(whole)) && may_equal(of(b), of(whole));
      fits = may_equal(of(like), of(whole)) || (of(like) == dim(1) && both);
    }
    expects(fits, "matmul_like: the product can't be summed to the third value's extents");
    return like.with(a.element);
  }
  static cost work(transposed const& t, std::span<type const> in, std::span<type const> out) {
    type const whole = matmul_op::infer(t, in[0], in[1]);
    auto c = matmul_op::work(t, in.first(2), std::span(&whole, 1));
    c.bytes = rill::detail::bytes_of(in.first(2)) + rill::detail::bytes_of(out);
    return c;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r);
  static kernel cpu(kernel_request const& r);
};

}  // namespace ops

/// Returns the product of two matrices, each optionally transposed first: `matmul(a, b)`, `matmul<transposed{.a =
/// true}>(a, b)`. Integers wrap; 16-bit floats are summed as float32 and rounded once. Operands of higher rank are
/// batches of matrices, their last two axes; the axes before them broadcast: [b, m, k] times [b, k, n] or [k, n] is [b,
/// m, n].
template <transposed Which = transposed{}, operand A, operand B> auto matmul(A a, B b) {
  return record<ops::matmul_op, Which>(a, b);
}
/// Returns the same for a choice known only at run time.
inline value matmul(value a, value b, transposed which) {
  return record_erased<ops::matmul_op>(detail::graph_of(a), which, {a, b});
}

namespace detail {

/// Returns the product of two batches of matrices, summed to the extents of `like`.
inline value matmul_like(value a, value b, transposed which, value like) {
  auto const is_matrix = [](value x) { return x.type().has_rank() && x.type().rank == 2; };
  if (is_matrix(a) && is_matrix(b) && is_matrix(like)) return matmul(a, b, which);
  return record_erased<ops::matmul_like_op>(graph_of(a), which, {a, b, like});
}

// C = A B: dA = dC Bᴴ, dB = Aᴴ dC; the derivative of a transposed operand is transposed, too; the derivative of a
// broadcast operand is summed.
template <class V> std::vector<gradient> product_gradient(gradient_request const& r) {
  auto const t = decode<transposed>(r.origin().attributes);
  std::vector<gradient> all(r.inputs());
  V const dc = r.dy();
  if (r.wanted[0]) {
    V const b = conj(V(r.in(1)));
    all[0] = t.a ? matmul_like(b, dc, {t.b, true}, r.in(0)) : matmul_like(dc, b, {false, !t.b}, r.in(0));
  }
  if (r.wanted[1]) {
    V const a = conj(V(r.in(0)));
    all[1] = t.b ? matmul_like(dc, a, {true, t.a}, r.in(1)) : matmul_like(a, dc, {!t.a, false}, r.in(1));
  }
  return all;
}

}  // namespace detail

template <class V> std::vector<gradient> ops::matmul_op::grad(gradient_request const& r) {
  return detail::product_gradient<V>(r);
}
template <class V> std::vector<gradient> ops::matmul_like_op::grad(gradient_request const& r) {
  return detail::product_gradient<V>(r);
}

}  // namespace rill

#include "rill/ops/matrix/matmul.ipp"
