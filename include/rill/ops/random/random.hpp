// Random values: uniform, normal and truncated normal. They come from a counter (base/philox.hpp), keyed by the graph's
// seed, by a number that a node is given when it is recorded, and by the step: whoever computes them, on any number of
// threads, gets the same bits, and a pass that moves the node does not change them.
#pragma once
#include "rill/base/philox.hpp"
#include "rill/dsl/expr.hpp"
#include "rill/ops/for_each_type.hpp"
#include "rill/ops/kernels.hpp"

#if RILL_KERNELS
#include "rill/ops/random/random_kernels.hpp"
#endif

namespace rill::ops {

/// A call of a random kernel.
struct random_call {
  random_stream stream;
  void* to;
  std::size_t n;
  double a, b;         ///< of floats: the bounds, or mean and standard deviation
  std::int64_t first;  ///< of integers: the lower bound
  std::uint64_t count;
};
struct random_table {
  std::array<void (*)(random_call const&, parallel const&), dtype_count> run{};
};

/// What random operations share: no inputs, or one whose extents the result has.
struct drawing {
  static constexpr std::int8_t arity = -2;
  static constexpr std::uint32_t shape_only = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  using kernels = random_table;

  static constexpr type drawn(type const& of, std::span<type const> like) {
    expects(like.size() <= 1, "a random value takes one operand at most, for its extents");
    return like.empty() ? of : like[0].with(of.element);
  }
  // What is drawn does not depend on the operand's elements.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return std::vector<gradient>(r.inputs());
  }
#if RILL_DEFINITIONS
  template <class Op> static kernel make(kernel_request const& r, random_call c, std::int64_t key) {
    auto const run = kernels_of<Op>().run[static_cast<std::size_t>(r.outputs[0].element)];
    c.n = static_cast<std::size_t>(rill::elements(r.outputs[0].shape()));
    c.stream.key = random_stream::key_of(r.seed, static_cast<std::uint64_t>(key));
    return kernel([=](kernel_call const& call) {
      auto with = c;
      with.to = call.out(0);
      with.stream.step = call.step.number;
      run(with, call.threads);
    });
  }
#endif
};

struct uniform_op : drawing {
  using library = void;
  static constexpr std::string_view name = "uniform",
                                    doc = "numbers from `low` to below `high`, each as likely as the others";
  static constexpr dtypes elements = reals;
  struct attributes {
    type of;
    double low = 0, high = 1;           ///< of floats
    std::int64_t first = 0, last = 0;   ///< of integers
    std::int64_t key = 0;
    static constexpr auto fields() {
      using a = attributes;
      return std::tuple{field{"of", &a::of},       field{"low", &a::low},   field{"high", &a::high},
                        field{"first", &a::first}, field{"last", &a::last}, field{"key", &a::key}};
    }
  };
  static constexpr type infer(attributes const& a, std::span<type const> like) {
    expects(elements.contains(a.of.element), "uniform: only integers and floats are drawn");
    if (is_float(a.of.element)) {
      expects(a.low < a.high, "uniform: the lower bound is not below the upper one");
      expects(a.high - a.low <= 1.7976931348623157e308, "uniform: the bounds are too far apart");
    } else expects(a.first < a.last, "uniform: the lower bound is not below the upper one");
    return drawn(a.of, like);
  }
#if RILL_KERNELS
  static constexpr random_table make_kernels() {
    random_table t;
    for_each_type<integers>([&]<class T>(std::size_t d) {
      t.run[d] = [](random_call const& c, parallel const& threads) {
        rill::kernels::fill_integers(c.stream, static_cast<T*>(c.to), c.n, c.first, c.count, threads);
      };
    });
    for_each_type<floats>([&]<class T>(std::size_t d) {
      t.run[d] = [](random_call const& c, parallel const& threads) {
        rill::kernels::fill_uniform(c.stream, static_cast<T*>(c.to), c.n, c.a, c.b, threads);
      };
    });
    return t;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<attributes>(r.at.attributes);
    auto const count = static_cast<std::uint64_t>(a.last) - static_cast<std::uint64_t>(a.first);
    return make<uniform_op>(r, {{}, nullptr, 0, a.low, a.high, a.first, count}, a.key);
  }
#endif
};

/// What normal and truncated_normal share.
struct drawing_normal : drawing {
  static constexpr dtypes elements = floats;
  struct attributes {
    type of;
    double mean = 0, deviation = 1;
    std::int64_t key = 0;
    static constexpr auto fields() {
      using a = attributes;
      return std::tuple{field{"of", &a::of}, field{"mean", &a::mean}, field{"deviation", &a::deviation},
                        field{"key", &a::key}};
    }
  };
  static constexpr type infer(attributes const& a, std::span<type const> like) {
    expects(elements.contains(a.of.element), "normal: only floats are drawn");
    expects(a.deviation >= 0, "normal: the standard deviation is negative");
    return drawn(a.of, like);
  }
#if RILL_DEFINITIONS
  template <class Op> static kernel make_normal(kernel_request const& r) {
    auto const a = decode<attributes>(r.at.attributes);
    return make<Op>(r, {{}, nullptr, 0, a.mean, a.deviation, 0, 0}, a.key);
  }
#endif
};

struct normal_op : drawing_normal {
  using library = void;
  static constexpr std::string_view name = "normal", doc = "normally distributed numbers";
#if RILL_KERNELS
  static constexpr random_table make_kernels() {
    random_table t;
    for_each_type<floats>([&]<class T>(std::size_t d) {
      t.run[d] = [](random_call const& c, parallel const& threads) {
        rill::kernels::fill_normal(c.stream, static_cast<T*>(c.to), c.n, c.a, c.b, 0.5, 100, threads);
      };
    });
    return t;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return make_normal<normal_op>(r); }
#endif
};

struct truncated_normal_op : drawing_normal {
  using library = void;
  static constexpr std::string_view name = "truncated_normal",
                                    doc = "normally distributed numbers within two standard deviations of the mean";
  // The part of the distribution between the mean and two standard deviations.
  static constexpr double within = 0.47724986805182079279971736;
#if RILL_KERNELS
  static constexpr random_table make_kernels() {
    random_table t;
    for_each_type<floats>([&]<class T>(std::size_t d) {
      t.run[d] = [](random_call const& c, parallel const& threads) {
        rill::kernels::fill_normal(c.stream, static_cast<T*>(c.to), c.n, c.a, c.b, within, 2, threads);
      };
    });
    return t;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return make_normal<truncated_normal_op>(r); }
#endif
};

}  // namespace rill::ops

namespace rill {

/// The bounds of `uniform`: from `low` to below `high`. Floats take them as double, integers as 64-bit integers.
template <class Number> struct bounds {
  Number low, high;
};
template <class Number> bounds(Number, Number) -> bounds<Number>;

/// Mean and standard deviation of `normal` and `truncated_normal`.
struct moments {
  double mean = 0, deviation = 1;
};

namespace detail {

// The graph's next node: no two random nodes of a graph have the same.
inline std::int64_t random_key(graph const& g) { return static_cast<std::int64_t>(g.size()); }

template <class Number> ops::uniform_op::attributes uniform_attributes(graph& g, type const& of, bounds<Number> within) {
  ops::uniform_op::attributes a{of};
  a.key = random_key(g);
  bool const whole = integers.contains(of.element);
  if constexpr (std::integral<Number>) {
    if (whole) {
      expects(std::in_range<std::int64_t>(within.low) && std::in_range<std::int64_t>(within.high),
              "uniform: a bound does not fit 64 bits");
      a.first = static_cast<std::int64_t>(within.low), a.last = static_cast<std::int64_t>(within.high);
      visit(of.element, [&]<class T>() {
        if constexpr (std::integral<T> && !std::same_as<T, bool>)
          expects(std::in_range<T>(a.first) && std::in_range<T>(a.last - 1), "uniform: a bound is beyond the element type");
      });
      return a;
    }
  } else expects(!whole, "uniform: the bounds of integers are integers");
  a.low = static_cast<double>(within.low), a.high = static_cast<double>(within.high);
  return a;
}

}  // namespace detail

/// Numbers from the lower bound to below the upper one, of any type that has extents when the step runs.
template <class Number = double> value uniform(graph& g, type const& of, bounds<Number> within = {0, 1}, std::string_view name = {}) {
  return record_erased<ops::uniform_op>(g, detail::uniform_attributes(g, of, within), {}, name);
}
/// Numbers in [0, 1), or between bounds: `uniform<float, 3, 4>(g)`, `uniform<int, 10>(g, bounds{-5, 5})`.
template <element T, dim... Extents, class Number = double>
expr<of<T, Extents...>> uniform(graph& g, bounds<Number> within = {0, 1}, std::string_view name = {}) {
  return {uniform(g, of<T, Extents...>, within, name)};
}
/// Numbers of x's type, one for each element of x.
template <operand X, class Number = double> X uniform_like(X x, bounds<Number> within = {0, 1}) {
  auto& g = detail::graph_of(x);
  type t = x.type();
  if constexpr (typed<X>) t = X::static_type;
  return {{record_erased<ops::uniform_op>(g, detail::uniform_attributes(g, t, within), {x})}};
}

/// Normally distributed numbers, of any type that has extents when the step runs.
inline value normal(graph& g, type const& of, moments m = {}, std::string_view name = {}) {
  return record_erased<ops::normal_op>(g, {of, m.mean, m.deviation, detail::random_key(g)}, {}, name);
}
/// Normally distributed numbers: `normal<float, 3, 4>(g, {.deviation = 0.1})`.
template <element T, dim... Extents>
expr<of<T, Extents...>> normal(graph& g, moments m = {}, std::string_view name = {}) {
  return {normal(g, of<T, Extents...>, m, name)};
}
/// Normally distributed numbers of x's type, one for each element of x.
template <operand X> X normal_like(X x, moments m = {}) {
  auto& g = detail::graph_of(x);
  return {{record_erased<ops::normal_op>(g, {x.type(), m.mean, m.deviation, detail::random_key(g)}, {x})}};
}

/// Normally distributed numbers within two standard deviations of the mean.
inline value truncated_normal(graph& g, type const& of, moments m = {}, std::string_view name = {}) {
  return record_erased<ops::truncated_normal_op>(g, {of, m.mean, m.deviation, detail::random_key(g)}, {}, name);
}
/// The same with a type that the compiler knows: `truncated_normal<float, 64, 10>(g, {.deviation = 0.1})`.
template <element T, dim... Extents>
expr<of<T, Extents...>> truncated_normal(graph& g, moments m = {}, std::string_view name = {}) {
  return {truncated_normal(g, of<T, Extents...>, m, name)};
}

}  // namespace rill
