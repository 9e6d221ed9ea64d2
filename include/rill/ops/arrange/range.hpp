// Numbers at equal distances, from a start up to a limit.
#pragma once
#include <cmath>
#include <type_traits>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

/// Returns how many of start, start + step, … lie before the limit.
template <class T> constexpr std::int64_t numbers_in_range(T start, T limit, T step, checks expects = {}) {
  if (!expects(step != T(0), "range: the step is 0")) return 0;
  if constexpr (std::integral<T>) {
    bool const up = step > T(0);
    if (up ? start >= limit : start <= limit) return 0;
    auto const from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(limit),
               by = static_cast<std::uint64_t>(step);
    auto const count = ((up ? to - from : from - to) - 1) / (up ? by : 0 - by) + 1;
    expects(count <= INT64_MAX, "range: there are more numbers than 64 bits can count");
    return static_cast<std::int64_t>(count);
  } else {
    auto const count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(step));
    expects(count < 0x1p62, "range: there is no finite number of steps from the start to the limit");  // nor for NaN
    return count > 0 ? static_cast<std::int64_t>(count) : 0;
  }
}

struct range_op {
  using library = void;
  static constexpr std::string_view
      name = "range",
      doc = "start, start + step, …: the numbers before the limit; their number may be known beforehand";
  static constexpr std::int8_t arity = 3;
  static constexpr bool dynamic_output_shape = true, wide_gradient = true;
  static constexpr dtypes elements = dtypes::reals;
  struct attributes {
    std::int64_t count = -1;  ///< of numbers; -1: only the run knows it
    static constexpr auto fields(auto const& take) { return take(field{"count", &attributes::count}); }
  };
  static constexpr type infer(attributes const& a, type const& start, type const& limit, type const& step,
                              checks expects = {}) {
    expects(elements.contains(start.element), "range: the numbers are not real");
    expects(limit.element == start.element && step.element == start.element,
            "range: start, limit and step have different element types; cast some of them");
    for (auto const* each : {&start, &limit, &step})
      expects(!each->has_rank() || each->is_scalar(), "range: start, limit and step must be scalars");
    expects(a.count >= -1, "range: the number of numbers is negative");
    return {start.element, {a.count < 0 ? unknown : dim(a.count)}};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V const dy = r.dy();
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = sum(dy);
    if (r.wanted[2]) all[2] = sum(dy * cast(V(positions(dy, 0, dtype::int64)), dy.type().element));
    return all;
  }
#if RILL_DEFINITIONS
  template <class T> static std::int64_t count(kernel_call const& call) {
    return numbers_in_range(*call.in<T>(0), *call.in<T>(1), *call.in<T>(2));
  }
  // Integers wrap as the kernels of arithmetic do, though no number before the limit does; floats are rounded once.
  template <class T> static void write(kernel_call const& call, T* to, std::int64_t n) {
    auto const start = *call.in<T>(0), step = *call.in<T>(2);
    for (std::int64_t i = 0; i < n; ++i)
      if constexpr (std::integral<T>)
        to[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                               static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step));
      else to[i] = static_cast<T>(static_cast<double>(start) + static_cast<double>(i) * static_cast<double>(step));
  }
  template <class T> static kernel make(std::int64_t expected, allocator* memory) {
    if (expected >= 0)
      return kernel([expected](kernel_call const& call) {
        if (auto const n = count<T>(call); n != expected)
          throw error(code::invalid_argument, "range: expected " + std::to_string(expected) +
                                                  " numbers from start, limit and step, got " + std::to_string(n));
        write(call, call.out<T>(0), expected);
      });
    kernel k([memory](kernel_call const& call) {
      tensor all(dtype_of<T>, shape{count<T>(call)}, *memory);
      write(call, all.template mutable_data<T>(), all.elements());
      call.give(0, std::move(all));
    });
    k.allocates_outputs = true;
    return k;
  }
  static kernel cpu(kernel_request const& r) {
    auto const expected = decode<attributes>(r.at.attributes).count;
    return visit(r.inputs[0].element, [&]<class T>() -> kernel {
      if constexpr (elements.contains(dtype_of<T>)) return make<T>(expected, r.memory);
      else throw error(code::internal, "range of other elements than real numbers");
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns the integers Start, Start + Step, … before Limit, as int32 or another element type: `range<2, 10, 2>(g)`
/// has 2, 4, 6 and 8.
template <std::int64_t Start, std::int64_t Limit, std::int64_t Step = 1, element T = std::int32_t>
auto range(graph& g) {
  static_assert(Step != 0, "range: the step is 0");
  constexpr auto count = ops::numbers_in_range(Start, Limit, Step);
  value const start = constant(g, detail::literal_as<T>(Start)), limit = constant(g, detail::literal_as<T>(Limit)),
              step = constant(g, detail::literal_as<T>(Step));
  return expr<of<T, count>>{record_erased<ops::range_op>(g, {count}, {start, limit, step})};
}
/// Returns 0, 1, …, Count - 1, as int32 or another element type: `range<10>(g)`, `range<10, float>(g)`.
template <std::int64_t Count, element T = std::int32_t> auto range(graph& g) { return range<0, Count, 1, T>(g); }

/// Returns start, start + step, … before the limit, for numbers known only at run time: `range(g, 0, n)`,
/// `range(g, 0.f, 1.f, 0.1f)`. The element type is the type that C++ gives to their sum.
template <number Start, number Limit, number Step = int> value range(graph& g, Start start, Limit limit, Step by = 1) {
  using T = std::common_type_t<Start, Limit, Step>;
  auto const first = static_cast<T>(start), last = static_cast<T>(limit), step = static_cast<T>(by);
  return record_erased<ops::range_op>(g, {ops::numbers_in_range(first, last, step)},
                                      {constant(g, first), constant(g, last), constant(g, step)});
}
/// Returns 0, 1, … before the limit.
template <number Limit> value range(graph& g, Limit limit) { return range(g, Limit(0), limit, Limit(1)); }

/// Returns start, start + step, … before the limit, for scalars of the graph. Their number is known only when the step
/// runs; nodes that depend on it are deferred. The derivative with respect to the limit is 0.
template <operand Start, operand Limit, operand Step> auto range(Start start, Limit limit, Step step) {
  return record<ops::range_op>(start, limit, step);
}
template <operand Start, operand Limit, number N> auto range(Start start, Limit limit, N step) {
  return range(start, limit, like(start, step));
}
template <operand Start, operand Limit> auto range(Start start, Limit limit) { return range(start, limit, 1); }
template <number N, operand Limit> auto range(N start, Limit limit) { return range(like(limit, start), limit, 1); }
template <number N, operand Limit, operand Step> auto range(N start, Limit limit, Step step) {
  return range(like(limit, start), limit, step);
}
/// Returns 0, 1, … before the limit, a scalar of the graph.
template <operand Limit> auto range(Limit limit) { return range(0, limit); }

}  // namespace rill
