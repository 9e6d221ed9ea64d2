// Products over axes.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/sum/sum.hpp"

#if RILL_KERNELS
#include "rill/ops/reduction/prod_kernels.hpp"
#endif

namespace rill {

/// For each element of x the product of the others over the axes (none: all); with directions, values of x's type, how
/// that changes if x changes along all of them at once. The derivative of prod, and the derivatives of that.
value prod_of_others(value x, std::vector<value> const& directions, extents const& axes);

namespace ops {

struct prod_op : reduce_rules<prod_op> {
  using library = void;
  static constexpr std::string_view name = "prod",
                                    doc =
                                        "the product over some axes, or all; 1 of nothing; integers wrap; zeros do "
                                        "no harm to its gradient";
  static constexpr dtypes elements = dtypes::numbers, common = common_floats | dtype::int64;  // which extents are
  static constexpr type infer(reduction const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "prod: only numbers have a product; cast the operand");
    return reduced(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<reduction>(r.origin().attributes);
    V others = prod_of_others(r.in(0), {}, a.axes);
    return {broadcast_like(V(r.dy()), r.in(0), a.keep ? extents{} : a.axes) * conj(others)};
  }
#if RILL_KERNELS
  template <class T> static constexpr reduction_kernel reduce() {
    return reduction_of<T, rill::kernels::reduce_prod<T>>();
  }
#endif
};

struct prod_of_others_op {
  using library = void;
  static constexpr std::string_view name = "prod_of_others",
                                    doc =
                                        "for each element of the first operand the product of the others over some "
                                        "axes, or all; with more operands, how that changes along all of them";
  static constexpr std::int8_t arity = -1;
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes, common = common_floats;
  static constexpr int most_directions = 4;
  struct attributes {
    extents axes;
    static constexpr auto fields(auto const& take) { return take(field{"axes", &attributes::axes}); }
  };
  /// An array, its axes in two groups, and its directions.
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
    expects(x.size() <= 1 + most_directions, "prod: derivatives beyond the fifth are not computed");
    if (x[0].has_rank()) reduced_axes(a.axes, x[0].rank);
    for (auto const& t : x)
      expects(accepts(x[0], t), "prod_of_others: a direction has another element type or other extents than x");
    return x[0];
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    return {6 * rill::detail::elements_of(out) * static_cast<double>(std::size_t{1} << (in.size() - 1)),
            rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  // It is linear in each direction, and what x adds to it is one direction more.
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
#if RILL_KERNELS
  template <class T>
  static void run(call const& c, void const* const* inputs, void* to, void* scratch, parallel const& threads) {
    rill::kernels::axis_groups groups;
    auto const take = [](auto& group, auto const& axes, int count) {
      for (int i = 0; i < count; ++i) group.push_back({axes[std::size_t(i)][0], axes[std::size_t(i)][1]});
    };
    take(groups.kept, c.kept, c.kept_axes);
    take(groups.reduced, c.reduced, c.reduced_axes);
    T const* directions[most_directions];
    for (int i = 0; i < c.directions; ++i) directions[i] = static_cast<T const*>(inputs[i + 1]);
    rill::kernels::prod_of_others(groups, c.directions, static_cast<T const*>(inputs[0]), directions,
                                  static_cast<T*>(to), scratch, threads);
  }
  template <dtypes Set> static constexpr kernels make_kernels() {
    kernels k;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) { k.run[d] = run<T>; });
    return k;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const& x = r.inputs[0];
    if (x.bytes() == 0) return kernel([](kernel_call const&) {});
    auto const gone = rill::ops::reduced_axes(decode<attributes>(r.at.attributes).axes, x.rank);
    call c;
    c.directions = static_cast<int>(r.inputs.size()) - 1;
    std::int64_t stride = 1;
    std::array<std::int64_t, max_rank> strides{};
    for (std::size_t i = x.rank; i-- > 0; stride *= x[i].extent) strides[i] = stride;
    for (std::size_t i = 0; i < x.rank; ++i) {
      auto& axis = gone[i] ? c.reduced[std::size_t(c.reduced_axes++)] : c.kept[std::size_t(c.kept_axes++)];
      axis = {x[i].extent, strides[i]};  // two statements, because g++ 14 refuses a list assigned to a ?:
    }
    auto const run = kernels_of<prod_of_others_op>(x.element).run[static_cast<std::size_t>(x.element)];
    auto const each = std::max<std::size_t>(size_of(x.element), 4);
    return kernel([=](kernel_call const& call) { run(c, call.pointers, call.out(0), call.scratch(), call.threads); },
                  (static_cast<std::size_t>(stride) * each) << c.directions);
  }
#endif
};

}  // namespace ops

inline value prod_of_others(value x, std::vector<value> const& directions, extents const& axes) {
  std::vector<value> inputs{x};
  inputs.insert(inputs.end(), directions.begin(), directions.end());
  return record_erased<ops::prod_of_others_op>(detail::graph_of(x), {axes}, inputs);
}

/// The product over the given axes, or all: `prod<0>(x)`, `prod(x)`. Integers wrap; the product of nothing is 1.
template <std::int64_t... Axes, operand X> auto prod(X x) {
  return record<ops::prod_op, ops::reduction{extents{Axes...}}>(x);
}
/// The product, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto prod(X x, keep_extents) {
  return record<ops::prod_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// The product over axes that only the run of the program knows; none: all.
inline value prod(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::prod_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill
