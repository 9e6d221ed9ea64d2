// Products of matrices, and of batches of them.
#pragma once
#include <algorithm>
#include <atomic>

#include "rill/ops/array/reshape.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/matrix/batch_axes.hpp"

#if RILL_KERNELS
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/matrix/gemm.hpp"
#endif

namespace rill {

/// Which operands of a matrix product are transposed first: `matmul<transposed{.b = true}>(x, y)`.
struct transposed {
  bool a = false, b = false;
  static constexpr auto fields(auto const& take) {
    return take(field{"transpose_a", &transposed::a}, field{"transpose_b", &transposed::b});
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
  rill::kernels::batch_axes const* summed;  ///< products of further matrices, which are added
};

struct matmul_op {
  friend struct matmul_like_op;
  using library = void;
  static constexpr std::string_view name = "matmul",
                                    doc =
                                        "the product of two matrices, or of each two of two batches that broadcast, "
                                        "either of them transposed first if asked; integers wrap, 16-bit floats are "
                                        "summed as float32";
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
    agree(extent(a, t.a ? 2 : 1), extent(b, t.b ? 1 : 2),
          "matmul: the columns of the first are not the rows of the second", expects);
    type y =
        a.has_rank() && b.has_rank() ? broadcast(batch_of(a), batch_of(b), expects) : type::of_unknown_rank(a.element);
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
  template <class V> static std::vector<gradient> grad(gradient_request const& r);

 private:
  // The extent of an axis, counted from the last one, which is 1.
  static constexpr dim extent(type const& x, std::size_t from_end) {
    return x.has_rank() && x.rank >= from_end ? x[x.rank - from_end] : unknown;
  }
  // The axes before the matrices'.
  static constexpr type batch_of(type const& x) {
    type y{x.element};
    for (std::size_t i = 0; i + 2 < x.rank; ++i) y.push_back(x[i]);
    return y;
  }

 public:
#if RILL_KERNELS
  template <class T> static void run(matmul_call const& c, parallel const& threads) {
    using view = rill::kernels::matrix_view<T>;
    rill::kernels::gemm<T>(c.m, c.n, c.k, view{static_cast<T const*>(c.a), c.a_row, c.a_column},
                           view{static_cast<T const*>(c.b), c.b_row, c.b_column}, static_cast<T*>(c.c), c.n, c.scratch,
                           threads, *c.summed);
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
  static kernel cpu(kernel_request const& r) { return product(r, decode<transposed>(r.at.attributes), r.outputs[0]); }

 private:
  using run_function = void (*)(matmul_call const&, parallel const&);

  // The axes of a product of batches, those that its result keeps and those along which it is summed.
  struct product_batch {
    rill::kernels::batch_axes kept, summed;

    product_batch(type const& a, type const& b, type const& whole, type const& y) {
      auto a_step = matrix(a), b_step = matrix(b);
      for (std::size_t from_end = 3; from_end <= whole.rank; ++from_end) {
        auto const extent_of = extent(whole, from_end).extent;
        auto const a_apart = step(a, from_end, a_step), b_apart = step(b, from_end, b_step);
        bool const keeps = from_end <= y.rank && extent(y, from_end).extent == extent_of;
        (keeps ? kept : summed).push_back(extent_of, a_apart, b_apart);
      }
    }
    bool shares_b() const {
      auto const end = kept.b_apart.begin() + static_cast<std::ptrdiff_t>(kept.rank);
      return summed.rank == 0 && std::all_of(kept.b_apart.begin(), end, [](auto apart) { return apart == 0; });
    }
    // Whether the matrices that are summed lie as one that is so many times as deep.
    bool is_deep(matmul_call const& c) const {
      auto a = c.k * c.a_column, b = c.k * c.b_row;
      for (std::size_t i = 0; i < summed.rank; ++i) {
        if (summed.a_apart[i] != a || summed.b_apart[i] != b) return false;
        a *= summed.extents[i], b *= summed.extents[i];
      }
      return true;
    }

   private:
    static std::int64_t matrix(type const& x) { return extent(x, 1).extent * extent(x, 2).extent; }
    // An axis that is broadcast stays where it is.
    static std::int64_t step(type const& x, std::size_t from_end, std::int64_t& apart) {
      if (from_end > x.rank || extent(x, from_end) == dim(1)) return 0;
      auto const here = apart;
      apart *= extent(x, from_end).extent;
      return here;
    }
  };

  // Of the first two inputs, summed to the extents of y.
  static kernel product(kernel_request const& r, transposed const& t, type const& y) {
    auto const &a = r.inputs[0], &b = r.inputs[1];
    matmul_call c{};
    c.m = extent(y, 2).extent;
    c.n = extent(y, 1).extent;
    c.k = extent(a, t.a ? 2 : 1).extent;
    c.a_row = t.a ? 1 : extent(a, 1).extent;
    c.a_column = t.a ? extent(a, 1).extent : 1;
    c.b_row = t.b ? 1 : extent(b, 1).extent;
    c.b_column = t.b ? extent(b, 1).extent : 1;
    if (rill::elements(y.shape()) == 0) return kernel([](kernel_call const&) {});
    product_batch batch(a, b, c.k == 0 ? y : infer(t, a, b), y);  // a sum of nothing is one, however many
    if (!t.a && batch.shares_b()) {                               // the rows of all matrices are those of one
      c.m *= batch.kept.count;
      batch.kept = {};
    }
    if (batch.is_deep(c)) {
      c.k *= batch.summed.count;
      batch.summed = {};
    }
    return batch.kept.count == 1 ? of_one(r, c, batch.summed) : of_many(r, c, batch);
  }

  static kernel of_one(kernel_request const& r, matmul_call const& c, rill::kernels::batch_axes const& summed) {
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
          with.summed = &summed;
          parallel as_planned = call.threads;  // scratch was made for so many
          as_planned.threads = threads;
          run(with, as_planned);
        },
        kernels.scratch[element](c.m, c.n, c.k * summed.count, r.threads));
  }

  // Many products, or small ones, are shared among the threads; few large ones take all threads, one after the other.
  // Neither changes the order of a sum.
  static kernel of_many(kernel_request const& r, matmul_call const& c, product_batch const& batch) {
    auto const element = static_cast<std::size_t>(r.inputs[0].element);
    auto const& kernels = kernels_of<matmul_op>(r.inputs[0].element);
    auto const size = static_cast<std::int64_t>(size_of(r.inputs[0].element));
    auto const depth = c.k * batch.summed.count;
    bool const shared = batch.kept.count >= 2 * r.threads || c.m * c.n * depth < 1 << 18;
    int const each = shared ? 1 : r.threads;
    auto const workers = shared ? std::min<std::int64_t>(r.threads, batch.kept.count) : 1;
    auto const room = kernels.scratch[element](c.m, c.n, depth, each);
    return kernel(
        [=, run = kernels.run[element]](kernel_call const& call) {
          std::atomic<std::int64_t> next = 0;
          auto const work = [&](std::size_t worker) {
            auto with = c;
            with.scratch = static_cast<std::byte*>(call.scratch()) + worker * room;
            with.summed = &batch.summed;
            parallel as_planned = call.threads;
            as_planned.threads = each;
            for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < batch.kept.count;) {
              with.a = static_cast<std::byte const*>(call.in(0)) + batch.kept.a_at(i) * size;
              with.b = static_cast<std::byte const*>(call.in(1)) + batch.kept.b_at(i) * size;
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

/// The gradients of products of batches: no product is kept that is only to be summed.
struct matmul_like_op {
  using library = void;
  static constexpr std::string_view name = "matmul_like",
                                    doc =
                                        "the product of two batches of matrices, summed over those of their common "
                                        "axes that a third value lacks, to whose extents it is";
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
      auto const of = [&](type const& x) { return i <= x.rank ? matmul_op::extent(x, i) : dim(1); };
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
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return matmul_op::product(r, decode<transposed>(r.at.attributes), r.outputs[0]);
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

namespace detail {

/// The product of two batches of matrices, summed to the extents of `like`.
inline value matmul_like(value a, value b, transposed which, value like) {
  auto const is_matrix = [](value x) { return x.type().has_rank() && x.type().rank == 2; };
  if (is_matrix(a) && is_matrix(b) && is_matrix(like)) return matmul(a, b, which);
  return record_erased<ops::matmul_like_op>(graph_of(a), which, {a, b, like});
}

// C = A B: dA = dC Bᴴ, dB = Aᴴ dC; where an operand was transposed, so is its gradient, and where it was broadcast, its
// gradient is summed.
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
