// Uniformly distributed random numbers.
#pragma once
#include <cmath>

#include "rill/ops/random/drawing.hpp"

namespace rill::ops {

struct uniform_op : draw_rules {
  using library = void;
  static constexpr std::string_view
      name = "uniform",
      doc = "uniformly distributed random numbers from `low` up to, but not including, `high`";
  static constexpr dtypes elements = dtypes::reals;
  static constexpr std::string_view declared_type = "of";
  struct attributes {
    type of;
    double low = 0, high = 1;          ///< of floats
    std::int64_t first = 0, last = 0;  ///< of integers
    std::int64_t key = 0;
    static constexpr auto fields(auto const& take) {
      using a = attributes;
      return take(field{"of", &a::of}, field{"low", &a::low}, field{"high", &a::high}, field{"first", &a::first},
                  field{"last", &a::last}, field{"key", &a::key});
    }
  };
  static constexpr type infer(attributes const& a, std::span<type const> like, checks expects = {}) {
    expects(elements.contains(a.of.element), "uniform: only integers and floats are drawn");
    if (is_float(a.of.element)) {
      expects(a.low < a.high, "uniform: the lower bound must be less than the upper bound");
      expects(a.high - a.low <= 1.7976931348623157e308, "uniform: the bounds are too far apart");
      double const most = a.of.element == dtype::float16    ? 65504
                          : a.of.element == dtype::bfloat16 ? 0x1.fep127
                          : a.of.element == dtype::float32  ? 0x1.fffffep127
                                                            : 1.7976931348623157e308;
      expects(-most <= a.low && a.high <= most, "uniform: a bound does not fit in the element type");
    } else {
      if (!expects(a.first < a.last, "uniform: the lower bound must be less than the upper bound")) return a.of;
      visit(a.of.element, [&]<class T>() {
        if constexpr (std::integral<T> && !std::same_as<T, bool>)
          expects(std::in_range<T>(a.first) && std::in_range<T>(a.last - 1),
                  "uniform: a bound does not fit in the element type");
      });
    }
    return drawn(a.of, like, expects);
  }
#if RILL_KERNELS
  template <dtypes Set> static constexpr random_table make_kernels() {
    random_table t;
    for_each_type<dtypes::integers & Set>([&]<class T>(std::size_t d) {
      t.run[d] = [](random_call const& c, parallel const& threads) {
        rill::kernels::fill_integers(c.stream, static_cast<T*>(c.to), c.n, c.first, c.count, threads);
      };
    });
    for_each_type<dtypes::floats & Set>([&]<class T>(std::size_t d) {
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

}  // namespace rill::ops

namespace rill {

namespace detail {

template <class Number>
ops::uniform_op::attributes uniform_attributes(graph& g, type const& of, Number low, Number high) {
  ops::uniform_op::attributes a{of};
  a.key = random_key(g);
  if (!dtypes::integers.contains(of.element)) {
    a.low = static_cast<double>(low), a.high = static_cast<double>(high);
    return a;
  }
  if constexpr (std::integral<Number>)
    expects(std::in_range<std::int64_t>(low) && std::in_range<std::int64_t>(high),
            "uniform: the bounds of integers, even of uint64, must fit in int64");
  else
    expects(std::abs(low) < 9e18 && std::abs(high) < 9e18 && std::trunc(low) == low && std::trunc(high) == high,
            "uniform: the bounds of integers are integers");
  a.first = static_cast<std::int64_t>(low), a.last = static_cast<std::int64_t>(high);
  return a;
}

}  // namespace detail

/// Returns random numbers in [low, high) of type `of`, whose extents must be known when the step runs.
template <number Low = double, number High = double>
value uniform(graph& g, type const& of, Low low = 0, High high = 1, std::string_view name = {}) {
  using both = std::common_type_t<Low, High>;
  auto const a = detail::uniform_attributes(g, of, static_cast<both>(low), static_cast<both>(high));
  return record_erased<ops::uniform_op>(g, a, {}, name);
}
/// Returns random numbers in [0, 1), or in [low, high): `uniform<float, 3, 4>(g)`, `uniform<int, 10>(g, -5, 5)`.
template <element T, dim... Extents, number Low = double, number High = double>
expr<of<T, Extents...>> uniform(graph& g, Low low = 0, High high = 1, std::string_view name = {}) {
  detail::provide_kernels<ops::uniform_op, dtype_of<T>>();
  return {uniform(g, of<T, Extents...>, low, high, name)};
}
/// Returns such numbers of x's type, one for each element of x.
template <operand X, number Low = double, number High = double> X uniform_like(X x, Low low = 0, High high = 1) {
  using both = std::common_type_t<Low, High>;
  auto& g = detail::graph_of(x);
  if constexpr (typed<X>) detail::provide_kernels<ops::uniform_op, X::static_type.element>();
  auto const a = detail::uniform_attributes(g, x.type(), static_cast<both>(low), static_cast<both>(high));
  return X{record_erased<ops::uniform_op>(g, a, {x})};
}

/// Returns random integers in [low, high): `randint<10>(g, 0, 6)`, `randint<std::int64_t, 3, 4>(g, -5, 5)`. uniform by
/// the name that NumPy and PyTorch have for integers.
template <element T, dim... Extents>
  requires std::integral<T>
expr<of<T, Extents...>> randint(graph& g, std::int64_t low, std::int64_t high) {
  return uniform<T, Extents...>(g, low, high);
}
template <dim... Extents> expr<of<std::int32_t, Extents...>> randint(graph& g, std::int64_t low, std::int64_t high) {
  return uniform<std::int32_t, Extents...>(g, low, high);
}

}  // namespace rill
