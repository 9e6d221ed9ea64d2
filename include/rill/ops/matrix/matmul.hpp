// Products of matrices.
#pragma once
#include "rill/ops/kernels.hpp"
#include "rill/ops/math/arithmetic.hpp"

#if RILL_KERNELS
#include "rill/ops/for_each_type.hpp"
#include "rill/ops/matrix/gemm.hpp"
#endif

namespace rill {

/// Which operands of a matrix product are transposed first: `matmul<transposed{.b = true}>(x, y)`.
struct transposed {
  bool a = false, b = false;
  static constexpr auto fields() {
    return std::tuple{field{"transpose_a", &transposed::a}, field{"transpose_b", &transposed::b}};
  }
};

namespace ops {

/// A matrix product on raw pointers: extents, operands with the distances of their rows and columns, result, scratch.
struct matmul_call {
  std::ptrdiff_t m, n, k;
  void const* a;
  std::ptrdiff_t a_row, a_column;
  void const* b;
  std::ptrdiff_t b_row, b_column;
  void* c;
  void* scratch;
};

struct matmul_op {
  using library = void;
  static constexpr std::string_view name = "matmul",
                                    doc =
                                        "the product of two matrices, either of them transposed first if asked; "
                                        "integers wrap, 16-bit floats are summed as float32";
  static constexpr std::int8_t arity = 2;
  static constexpr dtypes elements = numbers, common = dtypes{dtype::float32} | dtype::float64;
  using attributes = transposed;
  struct kernels {
    std::array<std::size_t (*)(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, int threads), dtype_count>
        scratch{};
    std::array<void (*)(matmul_call const&, parallel const&), dtype_count> run{};
  };
  static constexpr type infer(transposed const& t, type const& a, type const& b) {
    expects(a.element == b.element, "matmul: the operands have different element types; cast one of them");
    expects(elements.contains(a.element), "matmul: the operands are not numbers");
    expects((!a.has_rank() || a.rank == 2) && (!b.has_rank() || b.rank == 2), "matmul: an operand is not a matrix");
    auto const at = [](type const& x, std::size_t i) { return x.has_rank() ? x[i] : unknown; };
    agree(at(a, t.a ? 0 : 1), at(b, t.b ? 1 : 0), "matmul: the columns of the first are not the rows of the second");
    return {a.element, {at(a, t.a ? 1 : 0), at(b, t.b ? 0 : 1)}};
  }
  static cost work(transposed const& t, std::span<type const> in, std::span<type const> out) {
    cost c{0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
    if (in[0].is_known() && out[0].is_known())
      c.flops =
          2 * static_cast<double>(rill::elements(out[0].shape())) * static_cast<double>(in[0][t.a ? 0 : 1].extent);
    return c;
  }
  // C = A B: dA = dC Bᴴ, dB = Aᴴ dC; where an operand was transposed, so is its gradient.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const t = decode<transposed>(r.origin().attributes);
    std::vector<gradient> all(2);
    V dc = r.dy();
    if (r.wanted[0]) {
      V b = conj(V(r.in(1)));
      all[0] = t.a ? matmul(b, dc, transposed{t.b, true}) : matmul(dc, b, transposed{false, !t.b});
    }
    if (r.wanted[1]) {
      V a = conj(V(r.in(0)));
      all[1] = t.b ? matmul(dc, a, transposed{true, t.a}) : matmul(a, dc, transposed{!t.a, false});
    }
    return all;
  }
#if RILL_KERNELS
  template <class T> static void run(matmul_call const& c, parallel const& threads) {
    using view = rill::kernels::matrix_view<T>;
    rill::kernels::gemm<T>(c.m, c.n, c.k, view{static_cast<T const*>(c.a), c.a_row, c.a_column},
                           view{static_cast<T const*>(c.b), c.b_row, c.b_column}, static_cast<T*>(c.c), c.n, c.scratch,
                           threads);
  }
  template <dtypes Set> static constexpr kernels make_kernels() {
    kernels k;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) {
      k.scratch[d] = rill::kernels::gemm_scratch_bytes<T>;
      k.run[d] = run<T>;
    });
    return k;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const t = decode<transposed>(r.at.attributes);
    auto const &a = r.inputs[0], &b = r.inputs[1];
    matmul_call c{};
    c.m = r.outputs[0][0].extent;
    c.n = r.outputs[0][1].extent;
    c.k = a[t.a ? 0 : 1].extent;
    c.a_row = t.a ? 1 : a[1].extent;
    c.a_column = t.a ? a[1].extent : 1;
    c.b_row = t.b ? 1 : b[1].extent;
    c.b_column = t.b ? b[1].extent : 1;
    auto const element = static_cast<std::size_t>(a.element);
    auto const& kernels = kernels_of<matmul_op>(a.element);
    auto const run = kernels.run[element];
    return kernel(
        [=, threads = r.threads](kernel_call const& call) {
          auto with = c;
          with.a = call.in(0);
          with.b = call.in(1);
          with.c = call.out(0);
          with.scratch = call.scratch();
          parallel as_planned = call.threads;  // scratch was made for so many
          as_planned.threads = threads;
          run(with, as_planned);
        },
        kernels.scratch[element](c.m, c.n, c.k, r.threads));
  }
#endif
};

}  // namespace ops

/// The product of two matrices, either of them transposed first if asked: `matmul(a, b)`,
/// `matmul<transposed{.a = true}>(a, b)`. Integers wrap; 16-bit floats are summed as float32 and rounded once.
template <transposed Which = transposed{}, operand A, operand B> auto matmul(A a, B b) {
  return record<ops::matmul_op, Which>(a, b);
}
/// The same where only the run of the program knows which.
inline value matmul(value a, value b, transposed which) {
  return record_erased<ops::matmul_op>(detail::graph_of(a), which, {a, b});
}

}  // namespace rill
