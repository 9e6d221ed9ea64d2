// Updates of variables: assign, assign_add, assign_sub; and the first values of variables.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/state/variable.hpp"

namespace rill::ops {

#if RILL_DEFINITIONS
namespace assigning {

inline constexpr std::size_t chunk = 16384;  // elements that one thread takes at a time

/// Applies a tile function to a variable's elements and those that came, in place.
inline void in_place(tensor& v, tile_function run, void const* delta, parallel const& threads) {
  auto const n = static_cast<std::size_t>(v.elements()), size = size_of(v.element());
  auto* to = static_cast<std::byte*>(v.mutable_raw());
  auto const* from = static_cast<std::byte const*>(delta);
  threads((n + chunk - 1) / chunk, [&](std::size_t i) {
    auto const at = i * chunk;
    void const* operands[] = {to + at * size, from + at * size};
    run(to + at * size, operands, std::min(chunk, n - at));
  });
}

template <class Op> kernel update(kernel_request const& r) {
  auto const element = r.inputs[1].element;
  dtype const both[] = {element, element};
  auto const run = definition<Op>().elementwise->tile(both, element);
  if (run == nullptr) throw error(code::unimplemented, "the update does not take " + std::string(name(element)));
  kernel k([v = r.variables[0], run, extents = r.inputs[1].shape()](kernel_call const& call) {
    v->update([&](tensor& t) {
      expects(t.shape() == extents, "an update has other extents than the variable");
      in_place(t, run, call.in(1), call.threads);
      call.give(0, t);
    });
  });
  k.owns_outputs = true;
  return k;
}

}  // namespace assigning
#endif

/// What the updates share: a variable by reference, a value of its type; the result is the new value.
struct updating {
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr type infer(no_attributes, type const& variable, type const& x) {
    expects(accepts(variable, x), "the value is not of the variable's type");
    return x;
  }
};

struct assign_op : updating {
  using library = void;
  static constexpr std::string_view name = "assign", doc = "makes x the variable's value";
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    kernel k([v = r.variables[0], t = r.inputs[1], memory = r.memory](kernel_call const& call) {
      if (t.element == dtype::string) {  // copying strings can fail, so the old value stays until all are there
        tensor fresh(t.element, t.shape(), *memory);
        std::copy_n(call.in<std::string>(1), fresh.elements(), fresh.mutable_data<std::string>());
        call.give(0, fresh);
        return v->assign(std::move(fresh));
      }
      v->overwrite(t.shape(), *memory, [&](tensor& value) {
        if (value.bytes() != 0) std::memcpy(value.mutable_raw(), call.in(1), value.bytes());
        call.give(0, value);
      });
    });
    k.owns_outputs = true;
    return k;
  }
#endif
};

struct assign_add_op : updating {
  using library = void;
  using arithmetic = add_op;
  static constexpr std::string_view name = "assign_add", doc = "adds x to the variable";
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return assigning::update<arithmetic>(r); }
#endif
};

struct assign_sub_op : updating {
  using library = void;
  using arithmetic = sub_op;
  static constexpr std::string_view name = "assign_sub", doc = "subtracts x from the variable";
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return assigning::update<arithmetic>(r); }
#endif
};

}  // namespace rill::ops

namespace rill {

namespace detail {

template <class Op, operand V, operand X> auto record_update(V v, X x) {
  if constexpr (typed<V> && typed<X>) {
    constexpr type result = Op::infer({}, V::static_type, X::static_type);
    if constexpr (requires { typename Op::arithmetic; }) provide_kernels<typename Op::arithmetic, result.element>();
    return expr<result>{record_erased<Op>(graph_of(v), {}, {v, x})};
  } else return record_erased<Op>(graph_of(v), {}, {v, x});
}

}  // namespace detail

/// Makes x the variable's value; the result is the new value.
template <variable_handle V, operand X> auto assign(V v, X x) { return detail::record_update<ops::assign_op>(v, x); }
/// Adds x to the variable; the result is the new value.
template <variable_handle V, operand X> auto assign_add(V v, X x) {
  return detail::record_update<ops::assign_add_op>(v, x);
}
/// Subtracts x from the variable; the result is the new value.
template <variable_handle V, operand X> auto assign_sub(V v, X x) {
  return detail::record_update<ops::assign_sub_op>(v, x);
}

namespace detail {
/// `first`, made of the first values of the variables that it reads: `initializer` gives all variables theirs in one
/// step, which would read them as it found them, without any.
value at_start(value first);
/// A variable of that type, and the assignment that `initializer` runs.
variable_value variable_of(type const& t, value first, std::string_view name);
}  // namespace detail

/// A variable with its first value, which `initializer(graph)` gives it: the type is the value's. What that reads of
/// other variables are their first values: `variable(v, "copy")` starts as v does.
template <type T> variable_expr<T> variable(expr<T> first, std::string_view name) {
  return {{detail::variable_of(T, first, name)}};
}
inline variable_value variable(value first, std::string_view name) {
  return detail::variable_of(first.type(), first, name);
}

#if RILL_RUNTIME
RILL_INLINE value detail::at_start(value first) {
  auto& g = graph_of(first);
  if (g.is_body()) return first;        // it is refused
  std::map<std::uint32_t, bool> reads;  // of what it is computed from, in order: whether that is a variable
  std::vector<std::uint32_t> todo{first.node};
  while (!todo.empty()) {
    auto const i = todo.back();
    todo.pop_back();
    auto const& n = g[i];
    if (!reads.emplace(i, n.op->name == ops::variable_op::name).second) continue;
    for (auto e : n.inputs) todo.push_back(e.node);
  }
  if (std::none_of(reads.begin(), reads.end(), [](auto const& each) { return each.second; })) return first;
  std::map<std::uint32_t, endpoint> starts;  // of variables
  for (auto const& i : g.initials()) starts[i.variable] = g[i.assignment].inputs[1];
  std::map<std::uint32_t, value> made;  // in the place of a node: its output 0
  auto const in_place = [&](endpoint e) {
    auto const found = made.find(e.node);
    if (found == made.end()) return value{&g, e.node, e.port};
    return value{&g, found->second.node, found->second.port + e.port};
  };
  for (auto const& [i, is_variable] : reads) {
    auto const n = g[i];  // a copy: the graph grows
    if (auto const start = starts.find(i); start != starts.end())
      made[i] = {&g, start->second.node, start->second.port};
    else if (std::none_of(n.inputs.begin(), n.inputs.end(), [&](endpoint e) { return made.contains(e.node); }))
      continue;
    else if (n.op->name == ops::read_op::name) made[i] = in_place(n.inputs[0]);
    else if (n.op->effect != effect::writes) {
      std::vector<value> inputs;
      for (auto e : n.inputs) inputs.push_back(in_place(e));
      made[i] = g.add(*n.op, n.attributes, inputs, n.op->name);
    }
  }
  return in_place(first.endpoint());
}

RILL_INLINE variable_value detail::variable_of(type const& t, value first, std::string_view name) {
  auto& g = graph_of(first);
  auto const v = variable(g, t, name);
  auto const a = record_erased<ops::assign_op>(g, {}, {v, at_start(first)}, std::string(name) + "/assign");
  g.add_initial({v.node, a.node});
  return v;
}
#endif

}  // namespace rill
