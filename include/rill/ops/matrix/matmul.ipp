// Chooses how a product of batches is computed: as one deeper product, one by one, or distributed over threads.
#pragma once

#if RILL_KERNELS
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/matrix/gemm.hpp"

namespace rill::ops {

template <class T> void matmul_op::run(matmul_call const& c, parallel const& threads) {
  using view = rill::kernels::matrix_view<T>;
  rill::kernels::gemm<T>(c.m, c.n, c.k, view{static_cast<T const*>(c.a), c.a_row, c.a_column},
                         view{static_cast<T const*>(c.b), c.b_row, c.b_column}, static_cast<T*>(c.c), c.n, c.scratch,
                         threads, *c.summed);
}

template <dtypes Set> constexpr matmul_op::kernels matmul_op::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) {
    k.scratch[d] = rill::kernels::gemm_scratch_bytes<T>;
    k.run[d] = run<T>;
  });
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

// The axes of a product of batches: the axes that the result keeps and the axes along which it is summed.
struct product_batch {
  rill::kernels::batch_axes kept, summed;

  product_batch(type const& a, type const& b, type const& whole, type const& y) {
    auto a_step = matrix(a), b_step = matrix(b);
    for (std::size_t from_end = 3; from_end <= whole.rank; ++from_end) {
      auto const extent_of = extent_from_end(whole, from_end).extent;
      auto const a_apart = step(a, from_end, a_step), b_apart = step(b, from_end, b_step);
      bool const keeps = from_end <= y.rank && extent_from_end(y, from_end).extent == extent_of;
      (keeps ? kept : summed).push_back(extent_of, a_apart, b_apart);
    }
  }
  bool shares_b() const {
    auto const end = kept.b_apart.begin() + static_cast<std::ptrdiff_t>(kept.rank);
    return summed.rank == 0 && std::all_of(kept.b_apart.begin(), end, [](auto apart) { return apart == 0; });
  }
  // Whether the summed matrices are contiguous, so that one deeper product computes the sum.
  bool is_deep(matmul_call const& c) const {
    auto a = c.k * c.a_column, b = c.k * c.b_row;
    for (std::size_t i = 0; i < summed.rank; ++i) {
      if (summed.a_apart[i] != a || summed.b_apart[i] != b) return false;
      a *= summed.extents[i], b *= summed.extents[i];
    }
    return true;
  }

 private:
  static std::int64_t matrix(type const& x) { return extent_from_end(x, 1).extent * extent_from_end(x, 2).extent; }
  // A broadcast axis has stride 0.
  static std::int64_t step(type const& x, std::size_t from_end, std::int64_t& apart) {
    if (from_end > x.rank || extent_from_end(x, from_end) == dim(1)) return 0;
    auto const here = apart;
    apart *= extent_from_end(x, from_end).extent;
    return here;
  }
};

inline kernel product_of_one(kernel_request const& r, matmul_call const& c, rill::kernels::batch_axes const& summed) {
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
        parallel as_planned = call.threads;  // scratch has room for `threads`
        as_planned.threads = threads;
        run(with, as_planned);
      },
      kernels.scratch[element](c.m, c.n, c.k * summed.count, r.threads));
}

// Many products, or small ones, are distributed over the threads; a few large ones use all threads, one after the
// other. Neither changes the order of a sum.
inline kernel product_of_many(kernel_request const& r, matmul_call const& c, product_batch const& batch) {
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

// The product of the first two inputs, summed to the extents of y.
inline kernel make_product(kernel_request const& r, transposed const& t, type const& y) {
  auto const &a = r.inputs[0], &b = r.inputs[1];
  matmul_call c{};
  c.m = extent_from_end(y, 2).extent;
  c.n = extent_from_end(y, 1).extent;
  c.k = extent_from_end(a, t.a ? 2 : 1).extent;
  c.a_row = t.a ? 1 : extent_from_end(a, 1).extent;
  c.a_column = t.a ? extent_from_end(a, 1).extent : 1;
  c.b_row = t.b ? 1 : extent_from_end(b, 1).extent;
  c.b_column = t.b ? extent_from_end(b, 1).extent : 1;
  if (rill::elements(y.shape()) == 0) return kernel([](kernel_call const&) {});
  product_batch batch(a, b, c.k == 0 ? y : matmul_op::infer(t, a, b), y);  // an empty sum is one product
  if (!t.a && batch.shares_b()) {                                          // all rows form one matrix
    c.m *= batch.kept.count;
    batch.kept = {};
  }
  if (batch.is_deep(c)) {
    c.k *= batch.summed.count;
    batch.summed = {};
  }
  return batch.kept.count == 1 ? product_of_one(r, c, batch.summed) : product_of_many(r, c, batch);
}

inline kernel matmul_op::cpu(kernel_request const& r) {
  return make_product(r, decode<transposed>(r.at.attributes), r.outputs[0]);
}

inline kernel matmul_like_op::cpu(kernel_request const& r) {
  return make_product(r, decode<transposed>(r.at.attributes), r.outputs[0]);
}

}  // namespace rill::ops
#endif
