// The sum of any number of values.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"

namespace rill::ops {

struct add_n_op {
  using library = void;
  static constexpr std::string_view name = "add_n",
                                    doc =
                                        "the sum of all operands, which have the same type, in their order; 16-bit "
                                        "floats are added as float32 and rounded once";
  static constexpr std::int8_t arity = -1;
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr std::size_t most = 16384;  // a program's registers are counted in 16 bits
  static constexpr type infer(no_attributes, std::span<type const> x, checks expects = {}) {
    type y = x[0];
    expects(elements.contains(y.element), "add_n: the operands are not numbers");
    expects(x.size() <= most, "add_n: at most 16384 operands are supported; add them in groups");
    for (auto const& t : x) {
      expects(t.element == y.element, "add_n: the operands have different element types; cast some of them");
      if (!y.has_rank()) y = t;
      if (!t.has_rank()) continue;
      expects(t.rank == y.rank, "add_n: the operands have different ranks");
      for (std::size_t i = 0; i < y.rank; ++i)
        y[i] = agree(y[i], t[i], "add_n: the operands have different extents", expects);
    }
    return y;
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out);
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(r.inputs());
    for (std::size_t i = 0; i < r.inputs(); ++i)
      if (r.wanted[i]) all[i] = V(r.dy());
    return all;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    program p;
    auto const element = r.outputs[0].element, wide = rill::detail::wide_element(element);
    p.inputs.assign(r.inputs.size(), element);
    auto const instruct = [&](op_def const& op, std::array<std::uint16_t, max_operands> operands, dtype result) {
      p.instructions.push_back({op.elementwise, operands, result});
      return static_cast<std::uint16_t>(p.registers() - 1);
    };
    // 16-bit floats are added as float32 and rounded once.
    auto const as = [&](dtype to, std::uint16_t x) {
      return wide == element ? x : instruct(definition<cast_op>(), {x}, to);
    };
    auto sum = as(wide, 0);
    for (std::size_t i = 1; i < r.inputs.size(); ++i)
      sum = instruct(definition<add_op>(), {sum, as(wide, static_cast<std::uint16_t>(i))}, wide);
    p.outputs.push_back(as(element, sum));
    return rill::detail::make_kernel(p, r);
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns the sum of values of one type, in order; a single value itself.
value add_n(std::vector<value> const& x);

/// Returns the same for typed values: `add_n(a, b, c)`.
template <operand... X>
  requires(sizeof...(X) > 0)
auto add_n(X... x) {
  return record<ops::add_n_op>(x...);
}

#if RILL_RUNTIME

namespace ops {

RILL_INLINE cost add_n_op::work(no_attributes, std::span<type const> in, std::span<type const> out) {
  cost c{0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  if (out[0].is_known())
    c.flops = static_cast<double>(in.size() - 1) * static_cast<double>(rill::elements(out[0].shape()));
  return c;
}

}  // namespace ops

RILL_INLINE value add_n(std::vector<value> const& x) try {
  expects(!x.empty(), "add_n: there are no operands");
  auto& g = detail::graph_of(x[0]);
  if (!ops::add_n_op::elements.contains(x[0].type().element))
    throw error(code::invalid_argument, "add_n: the operands are not numbers", x[0].name());
  constexpr auto most = ops::add_n_op::most;
  if (auto const element = x[0].type().element; x.size() > most && detail::wide_element(element) != element) {
    std::vector<value> wide;
    for (auto const& v : x) wide.push_back(detail::widened(v));
    return cast(add_n(wide), element);
  }
  value sum = x[0];
  for (std::size_t at = 1; at < x.size();) {
    auto const count = std::min(x.size() - at, most - 1);
    std::vector<value> next{sum};
    next.insert(next.end(), x.begin() + static_cast<std::ptrdiff_t>(at),
                x.begin() + static_cast<std::ptrdiff_t>(at + count));
    sum = record_erased<ops::add_n_op>(g, {}, next);
    at += count;
  }
  return sum;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
