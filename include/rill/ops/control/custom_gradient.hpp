// Custom derivatives, and subgraphs whose values are recomputed for the derivative.
#pragma once
#include "rill/ops/array/as.hpp"

namespace rill::ops {

struct custom_gradient_op {
  using library = void;
  static constexpr std::string_view
      name = "custom_gradient",
      doc = "the first input; a user's rule gives the derivatives with respect to the others";
  static constexpr std::int8_t arity = -1;
  static constexpr bool aliases_input = true;
  struct attributes {
    std::int64_t rule = 0;
    static constexpr auto fields(auto const& take) { return take(field{"rule", &attributes::rule}); }
  };
  static constexpr type infer(attributes const&, std::span<type const> inputs) { return inputs[0]; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<value> x;
    for (std::size_t i = 1; i < r.inputs(); ++i) x.push_back(r.in(i));
    auto const& rule = r.graph.find_rule(decode<attributes>(r.origin().attributes).rule);
    std::vector<gradient> all(1);
    for (auto const& d : derivatives(rule, x, V(r.out()), r.dy())) all.push_back(d ? gradient(d) : gradient());
    return all;
  }
};

}  // namespace rill::ops

namespace rill {

namespace detail {

template <class D> std::vector<value> listed(D const& d) {
  if constexpr (operand<D>) return {d};
  else return std::apply([](auto const&... each) { return std::vector<value>{each...}; }, d);
}
template <class X> X typed_again(value v) {
  if constexpr (typed<X>) return X{as<X::static_type>(v)};
  else return v;
}

}  // namespace detail

/// Returns a function of values whose derivative is `df`: `custom_gradient(f, df)(x...)` computes f(x...); where it is
/// differentiated, `df(x..., y, dy)` gives the derivative with respect to each x (one handle, or a tuple).
template <class F, class D> auto custom_gradient(F f, D df) {
  return [f, df]<operand... X>(X... x) {
    auto const y = f(x...);
    using Y = std::remove_const_t<decltype(y)>;
    auto& g = detail::graph_of(x...);
    auto const number = only_errors([&] {
      return g.add_rule([df](std::vector<value> const& in, value out, value dy) {
        return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
          return detail::listed(
              df(detail::typed_again<X>(in[Index])..., detail::typed_again<Y>(out), detail::typed_again<Y>(dy)));
        }(std::index_sequence_for<X...>{});
      });
    });
    return Y{record_erased<ops::custom_gradient_op>(g, {number}, {y, x...})};
  };
}

/// Records the operations of `f()` as a subgraph whose values are not kept for the backward pass but computed again.
template <class F> auto recompute(graph& g, F&& f) { return g.recomputed(std::forward<F>(f)); }

}  // namespace rill
