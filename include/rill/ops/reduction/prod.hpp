// Products over axes.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {

/// Returns for each element of x the product of the others over the axes (empty: all); with directions, values of x's
/// type, the derivative of that along all directions. These are the derivative of prod and its higher derivatives.
value prod_of_others(value x, std::vector<value> const& directions, extents const& axes);

namespace ops {

struct prod_op : reduce_rules<prod_op> {
  using library = void;
  static constexpr std::string_view
      name = "prod",
      doc =
          "the product over some axes, or all; 1 for no elements; integers wrap; the derivative is exact at zeros, too";
  static constexpr dtypes elements = dtypes::numbers, common = common_floats | dtype::int64;  // which extents are
  static constexpr bool wide_gradient = true;
  static constexpr type infer(reduction const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "prod: the operand is not of numbers; cast it");
    return reduced(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<reduction>(r.origin().attributes);
    V others = prod_of_others(r.in(0), {}, a.axes);
    return {broadcast_like(V(r.dy()), r.in(0), a.keep ? extents{} : a.axes) * conj(others)};
  }
  static constexpr reducer reduces = reducer::prod;
};

struct prod_of_others_op {
  using library = void;
  static constexpr std::string_view name = "prod_of_others",
                                    doc =
                                        "for each element of the first operand, the product of the others over some "
                                        "axes, or all; with more operands, its derivative along them";
  static constexpr std::int8_t arity = -1;
  static constexpr bool wide_gradient = true;
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes, common = common_floats;
  static constexpr int most_directions = 4;
  struct attributes {
    extents axes;
    static constexpr auto fields(auto const& take) { return take(field{"axes", &attributes::axes}); }
  };
  /// An array with its axes in two groups, and directions.
  struct call {
    std::array<std::array<std::int64_t, 2>, max_rank> kept, reduced;  ///< extents and strides
    int kept_axes = 0, reduced_axes = 0, directions = 0;
  };
  /// By element type.
  struct kernels {
    std::array<void (*)(call const&, void const* const* inputs, void* to, void* scratch, parallel const&), dtype_count>
        run{};
  };
  static type infer(attributes const& a, std::span<type const> x) {
    expects(elements.contains(x[0].element), "prod_of_others: the operand is not of floats or complex numbers");
    expects(x.size() <= 1 + most_directions, "prod: derivatives beyond the fifth are not supported");
    if (x[0].has_rank()) reduced_axes(a.axes, x[0].rank);
    for (auto const& t : x)
      expects(accepts(x[0], t), "prod_of_others: a direction has another element type or other extents than x");
    return x[0];
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    return {6 * rill::detail::elements_of(out) * static_cast<double>(std::size_t{1} << (in.size() - 1)),
            rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  // It is linear in each direction; the derivative with respect to x has one direction more.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const axes = decode<attributes>(r.origin().attributes).axes;
    std::vector<gradient> all(r.inputs());
    value const along = conj(V(r.dy()));
    for (std::size_t k = 0; k < r.inputs(); ++k) {
      if (!r.wanted[k]) continue;
      std::vector<value> directions{along};
      for (std::size_t i = 1; i < r.inputs(); ++i)
        if (i != k) directions.push_back(r.in(i));
      all[k] = conj(V(prod_of_others(r.in(0), directions, axes)));
    }
    return all;
  }
  template <class T>
  static void run(call const& c, void const* const* inputs, void* to, void* scratch, parallel const& threads);
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

}  // namespace ops

inline value prod_of_others(value x, std::vector<value> const& directions, extents const& axes) try {
  std::vector<value> inputs{x};
  inputs.insert(inputs.end(), directions.begin(), directions.end());
  return record_erased<ops::prod_of_others_op>(detail::graph_of(x), {axes}, inputs);
} catch (...) {
  rethrow_as_error();
}

/// Returns the product over the given axes, or all: `prod<0>(x)`, `prod(x)`. Integers wrap; the product of no elements
/// is 1.
template <std::int64_t... Axes, operand X> auto prod(X x) {
  return record<ops::prod_op, ops::reduction{extents{Axes...}}>(x);
}
/// Returns the product, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto prod(X x, keep_extents) {
  return record<ops::prod_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// Returns the product over axes known only at run time; an empty list means all axes.
inline value prod(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::prod_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill

#include "rill/ops/reduction/prod.ipp"
