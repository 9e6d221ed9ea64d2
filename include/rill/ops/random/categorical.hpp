// Random classes with probabilities from logits.
#pragma once
#include "rill/ops/random/drawing.hpp"

namespace rill::ops {

struct categorical_op {
  using library = void;
  static constexpr std::string_view
      name = "categorical",
      doc = "for each row of logits one class, or several, drawn with the probabilities softmax(logits)";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  static constexpr std::string_view draws_random = "key";
  static constexpr dtypes elements = dtypes::floats, common = common_floats;
  static constexpr double flops = 24;
  struct attributes {
    std::int64_t samples = -1;  ///< of each row; -1: one, without an axis of its own
    dtype index = dtype::int32;
    std::int64_t key = 0;
    static constexpr auto fields(auto const& take) {
      using a = attributes;
      return take(field{"samples", &a::samples}, field{"index", &a::index}, field{"key", &a::key});
    }
  };
  /// Sums of powers, row by row, by element type.
  struct kernels {
    std::array<void (*)(std::size_t rows, std::size_t n, void const* logits, double* to, parallel const&), dtype_count>
        run{};
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "categorical: the logits are not floats; cast them");
    expects(dtypes::indices.contains(a.index), "categorical: classes are int32 or int64");
    expects(a.samples >= -1, "categorical: the number of samples is negative");
    expects(!x.has_rank() || x.rank > 0, "categorical: the logits have no axis of classes");
    if (!x.has_rank()) return type::of_unknown_rank(a.index);
    type y = without_axis(x, x.rank - 1u).with(a.index);
    if (a.samples >= 0) y.push_back(a.samples);
    return y;
  }
  // The drawn classes are constant in the logits almost everywhere.
  template <class V> static std::vector<gradient> grad(gradient_request const&) { return std::vector<gradient>(1); }
#if RILL_KERNELS
  template <dtypes Set> static constexpr kernels make_kernels() {
    kernels k;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) {
      k.run[d] = [](std::size_t rows, std::size_t n, void const* logits, double* to, parallel const& threads) {
        rill::kernels::sum_up_powers(rows, n, static_cast<T const*>(logits), to, threads);
      };
    });
    return k;
  }
#endif
#if RILL_DEFINITIONS
  // The first class whose cumulative sum exceeds the drawn fraction of the total. A class of probability 0 is never
  // drawn.
  static std::int64_t choose(double const* sums, std::size_t n, std::uint64_t word) {
    double const whole = sums[n - 1], part = static_cast<double>(word >> 11) * 0x1p-53 * whole;
    auto const* found = std::upper_bound(sums, sums + n, part);
    return (found == sums + n ? std::lower_bound(sums, sums + n, whole) : found) - sums;
  }
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<attributes>(r.at.attributes);
    auto const x = r.inputs[0].shape();
    auto const n = static_cast<std::size_t>(x[x.rank() - 1]);
    auto const rows = static_cast<std::size_t>(rill::elements(without_axis(r.inputs[0], x.rank() - 1).shape()));
    expects(n > 0 || rill::elements(r.outputs[0].shape()) == 0, "categorical: there are no classes to draw from");
    expects(a.index == dtype::int64 || n <= INT32_MAX,
            "categorical: the number of classes does not fit in int32; ask for int64");
    auto const samples = static_cast<std::size_t>(a.samples < 0 ? 1 : a.samples);
    if (n == 0 || samples == 0) return kernel([](kernel_call const&) {});
    auto const element = r.inputs[0].element;
    auto const run = kernels_of<categorical_op>(element).run[static_cast<std::size_t>(element)];
    random_stream const stream{random_stream::key_of(r.seed, static_cast<std::uint64_t>(a.key)), 0};
    return kernel(
        [=, wide = a.index == dtype::int64](kernel_call const& call) {
          auto* const sums = static_cast<double*>(call.scratch());
          run(rows, n, call.in(0), sums, call.threads);
          for (std::size_t row = 0; row < rows; ++row)
            if (auto const whole = sums[row * n + n - 1]; whole != whole)
              throw error(code::invalid_argument, "categorical: the logits of row " + std::to_string(row) +
                                                      " are no distribution: one is NaN or infinite, or all are -inf");
          auto with = stream;
          with.step = call.step.stream;
          std::size_t const each = 1024;
          call.threads((rows * samples + each - 1) / each, [&](std::size_t chunk) {
            for (auto i = chunk * each; i < std::min(rows * samples, (chunk + 1) * each); ++i) {
              auto const block = with.block(i);
              auto const c = choose(sums + i / samples * n, n, std::uint64_t{block[1]} << 32 | block[0]);
              if (wide) call.out<std::int64_t>(0)[i] = c;
              else call.out<std::int32_t>(0)[i] = static_cast<std::int32_t>(c);
            }
          });
        },
        rows * n * sizeof(double));
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns a random class for each row of logits [..., classes], drawn with the probabilities softmax(logits): [...],
/// or [..., samples] if `samples` >= 0. The step fails with error(invalid_argument) that names the row if a row
/// contains NaN or +inf, or only -inf.
inline value categorical(value logits, std::int64_t samples, dtype index = dtype::int32) {
  auto& g = detail::graph_of(logits);
  return record_erased<ops::categorical_op>(g, {samples, index, detail::random_key(g)}, {logits});
}
/// Returns the same with a static type: `categorical(logits)`, `categorical<5>(logits)` for 5 of each row,
/// `categorical<5, std::int64_t>(logits)`.
template <std::int64_t Samples = -1, element Index = std::int32_t, operand X> auto categorical(X logits) {
  auto const drawn = categorical(value(logits), Samples, dtype_of<Index>);
  if constexpr (typed<X>) {
    constexpr type result =
        detail::result_types<ops::categorical_op, ops::categorical_op::attributes{Samples, dtype_of<Index>}, X>();
    detail::provide_kernels<ops::categorical_op, X::static_type.element>();
    return expr<result>{drawn};
  } else return drawn;
}

}  // namespace rill
