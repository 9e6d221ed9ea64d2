// Products of matrices, and of batches of them.
#pragma once
#include <algorithm>
#include <atomic>

#include "rill/ops/array/reshape.hpp"
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
                                        "the product of two matrices, or of each two of two batches that broadcast, "
                                        "either of them transposed first if asked; integers wrap, 16-bit floats are "
                                        "summed as float32";
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
    expects((!a.has_rank() || a.rank >= 2) && (!b.has_rank() || b.rank >= 2), "matmul: an operand is not a matrix");
    agree(extent(a, t.a ? 2 : 1), extent(b, t.b ? 1 : 2),
          "matmul: the columns of the first are not the rows of the second");
    type y = a.has_rank() && b.has_rank() ? broadcast(batch_of(a), batch_of(b)) : type::of_unknown_rank(a.element);
    if (!y.has_rank()) return y;
    y.push_back(extent(a, t.a ? 1 : 2));
    y.push_back(extent(b, t.b ? 2 : 1));
    return y;
  }
  static cost work(transposed const& t, std::span<type const> in, std::span<type const> out) {
    cost c{0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
    if (in[0].is_known() && out[0].is_known())
      c.flops = 2 * static_cast<double>(rill::elements(out[0].shape())) *
                static_cast<double>(extent(in[0], t.a ? 2 : 1).extent);
    return c;
  }
  // C = A B: dA = dC Bᴴ, dB = Aᴴ dC; where an operand was transposed, so is its gradient, and where it was broadcast,
  // its gradient is summed.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const t = decode<transposed>(r.origin().attributes);
    std::vector<gradient> all(2);
    V dc = r.dy();
    if (r.wanted[0]) {
      V b = conj(V(r.in(1)));
      all[0] = summed(V(t.a ? matmul(b, dc, transposed{t.b, true}) : matmul(dc, b, transposed{false, !t.b})), r, 0);
    }
    if (r.wanted[1]) {
      V a = conj(V(r.in(0)));
      bool const flat = !t.a && is_flat(a, r.in(1));
      if (flat) a = flatten_rows(a), dc = flatten_rows(dc);
      V const db = t.b ? matmul(dc, a, transposed{true, t.a}) : matmul(a, dc, transposed{!t.a, false});
      all[1] = flat ? db : summed(db, r, 1);
    }
    return all;
  }

 private:
  // The extent of an axis, counted from the last one, which is 1.
  static constexpr dim extent(type const& x, std::size_t from_end) {
    return x.has_rank() ? x[x.rank - from_end] : unknown;
  }
  // The axes before the matrices'.
  static constexpr type batch_of(type const& x) {
    type y{x.element};
    for (std::size_t i = 0; i + 2 < x.rank; ++i) y.push_back(x[i]);
    return y;
  }
  // Whether a batch of matrices met one matrix, so that all their rows can be taken as those of one. Not in 16 bits,
  // where the rounding of each matrix's product would tell whether the rank was known.
  static bool is_flat(value a, value b) {
    if (a.type().element == dtype::float16 || a.type().element == dtype::bfloat16) return false;
    return a.type().has_rank() && a.type().rank > 2 && b.type().has_rank() && b.type().rank == 2;
  }
  // A product's gradient, which has the extents of the product's batch, with those of operand `i`.
  template <class V> static V summed(V gradient_of, gradient_request const& r, std::size_t i) {
    bool batches = false;
    for (std::size_t k : {0u, 1u}) batches = batches || !r.in(k).type().has_rank() || r.in(k).type().rank > 2;
    return batches ? V(sum_like(gradient_of, r.in(i))) : gradient_of;
  }

 public:
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
    c.m = extent(r.outputs[0], 2).extent;
    c.n = extent(r.outputs[0], 1).extent;
    c.k = extent(a, t.a ? 2 : 1).extent;
    c.a_row = t.a ? 1 : extent(a, 1).extent;
    c.a_column = t.a ? extent(a, 1).extent : 1;
    c.b_row = t.b ? 1 : extent(b, 1).extent;
    c.b_column = t.b ? extent(b, 1).extent : 1;
    product_batch batch(a, b, r.outputs[0]);
    if (!t.a && batch.shares_b()) {  // the rows of all matrices are those of one
      c.m *= batch.count;
      batch.count = 1;
    }
    if (batch.count == 0 || c.m == 0 || c.n == 0) return kernel([](kernel_call const&) {});
    return batch.count == 1 ? of_one(r, c) : of_many(r, c, batch);
  }

 private:
  using run_function = void (*)(matmul_call const&, parallel const&);

  // Where the matrices of a batch lie: how many elements each step along one of its axes is apart.
  struct product_batch {
    std::size_t rank;
    std::int64_t count = 1;
    std::array<std::int64_t, max_rank> extents{}, a_apart{}, b_apart{};

    product_batch(type const& a, type const& b, type const& y) : rank(y.rank - std::size_t{2}) {
      auto a_step = matrix(a), b_step = matrix(b);
      for (std::size_t i = 1; i <= rank; ++i) {
        auto const at = rank - i;
        extents[at] = y[at].extent;
        count *= extents[at];
        a_apart[at] = step(a, i, a_step);
        b_apart[at] = step(b, i, b_step);
      }
    }
    bool shares_b() const {
      return std::all_of(b_apart.begin(), b_apart.end(), [](auto apart) { return apart == 0; });
    }
    /// Where matrix `number` of an operand begins, and the first's elements.
    static std::int64_t place(std::array<std::int64_t, max_rank> const& extents_of, std::size_t rank_of,
                              std::array<std::int64_t, max_rank> const& apart, std::int64_t number) {
      std::int64_t at = 0;
      for (std::size_t i = rank_of; i-- > 0; number /= extents_of[i]) at += number % extents_of[i] * apart[i];
      return at;
    }
    std::int64_t a_at(std::int64_t number) const { return place(extents, rank, a_apart, number); }
    std::int64_t b_at(std::int64_t number) const { return place(extents, rank, b_apart, number); }

   private:
    static std::int64_t matrix(type const& x) { return extent(x, 1).extent * extent(x, 2).extent; }
    // An axis that is broadcast stays where it is.
    static std::int64_t step(type const& x, std::size_t from_end, std::int64_t& apart) {
      if (from_end + 2 > x.rank || extent(x, from_end + 2) == dim(1)) return 0;
      auto const here = apart;
      apart *= extent(x, from_end + 2).extent;
      return here;
    }
  };

  static kernel of_one(kernel_request const& r, matmul_call const& c) {
    auto const element = static_cast<std::size_t>(r.inputs[0].element);
    auto const& kernels = kernels_of<matmul_op>(r.inputs[0].element);
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

  // Many products, or small ones, are shared among the threads; few large ones take all threads, one after the other.
  // Neither changes the order of a sum.
  static kernel of_many(kernel_request const& r, matmul_call const& c, product_batch const& batch) {
    auto const element = static_cast<std::size_t>(r.inputs[0].element);
    auto const& kernels = kernels_of<matmul_op>(r.inputs[0].element);
    auto const size = static_cast<std::int64_t>(size_of(r.inputs[0].element));
    bool const shared = batch.count >= 2 * r.threads || c.m * c.n * c.k < 1 << 18;
    int const each = shared ? 1 : r.threads;
    auto const workers = shared ? std::min<std::int64_t>(r.threads, batch.count) : 1;
    auto const room = kernels.scratch[element](c.m, c.n, c.k, each);
    return kernel(
        [=, run = kernels.run[element]](kernel_call const& call) {
          std::atomic<std::int64_t> next = 0;
          auto const work = [&](std::size_t worker) {
            auto with = c;
            with.scratch = static_cast<std::byte*>(call.scratch()) + worker * room;
            parallel as_planned = call.threads;
            as_planned.threads = each;
            for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < batch.count;) {
              with.a = static_cast<std::byte const*>(call.in(0)) + batch.a_at(i) * size;
              with.b = static_cast<std::byte const*>(call.in(1)) + batch.b_at(i) * size;
              with.c = static_cast<std::byte*>(call.out(0)) + i * c.m * c.n * size;
              run(with, as_planned);
            }
          };
          parallel share = call.threads;
          share.threads = static_cast<int>(workers);
          share(static_cast<std::size_t>(workers), work);
        },
        static_cast<std::size_t>(workers) * room);
  }
#endif
};

}  // namespace ops

/// The product of two matrices, either of them transposed first if asked: `matmul(a, b)`,
/// `matmul<transposed{.a = true}>(a, b)`. Integers wrap; 16-bit floats are summed as float32 and rounded once. Operands
/// of higher rank are batches of matrices, their last two axes; the axes before them broadcast: [b, m, k] times
/// [b, k, n] or [k, n] is [b, m, n].
template <transposed Which = transposed{}, operand A, operand B> auto matmul(A a, B b) {
  return record<ops::matmul_op, Which>(a, b);
}
/// The same where only the run of the program knows which.
inline value matmul(value a, value b, transposed which) {
  return record_erased<ops::matmul_op>(detail::graph_of(a), which, {a, b});
}

}  // namespace rill
