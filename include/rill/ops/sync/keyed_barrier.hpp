// Keyed barriers: the components of an element are inserted by its key, possibly in different steps (white paper §4.6).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/ops/base/waiting.hpp"
#include "rill/ops/queues/queue_ops.hpp"
#include "rill/state/container.hpp"

namespace rill::ops {

/// The attributes of all operations of a keyed barrier.
struct keyed_attributes {
  std::string barrier;  ///< its name in the container
  std::vector<type> components;
  std::int64_t number = 0;  ///< the component to insert, or how many elements to take
  bool fewer = false;       ///< at the end of a closed barrier fewer will do; of a close: it cancels; of a size: which
  static constexpr auto fields(auto const& take) {
    return take(field{"barrier", &keyed_attributes::barrier}, field{"components", &keyed_attributes::components},
                field{"number", &keyed_attributes::number}, field{"fewer", &keyed_attributes::fewer});
  }
  void check() const {
    expects(!components.empty(), "a keyed barrier needs at least one component");
    for (auto const& c : components) expects(c.has_rank(), "components of unknown rank can't be stacked");
  }
};
struct keyed_operation {
  using attributes = keyed_attributes;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr std::string_view rendezvous = "barrier";
  static constexpr rendezvous_kind rendezvous_role = rendezvous_kind::gives;
  static constexpr std::int8_t arity = -2;
  static constexpr std::size_t outputs = 0;
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
};

struct keyed_insert_op : keyed_operation {
  using library = void;
  static constexpr std::string_view name = "keyed_insert",
                                    doc = "adds one component of elements to a keyed barrier, by their keys";
  static constexpr std::int8_t arity = 2;
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct keyed_take_op : keyed_operation {
  using library = void;
  static constexpr rendezvous_kind rendezvous_role = rendezvous_kind::takes;
  static constexpr bool waits = true;
  static constexpr std::string_view name = "keyed_take",
                                    doc = "removes `n` complete elements from a keyed barrier; waits for them";
  static constexpr bool dynamic_output_shape = true;
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);

 private:
  static void hand_over(std::vector<type> const& components, std::vector<keyed_element>& taken, tensor* to);
};
struct keyed_close_op : keyed_operation {
  using library = void;
  static constexpr std::string_view name = "keyed_close", doc = "closes a keyed barrier to new keys";
  static kernel cpu(kernel_request const& r);
};
struct keyed_size_op : keyed_operation {
  using library = void;
  static constexpr std::string_view name = "keyed_size",
                                    doc = "the number of complete, or of incomplete, elements in a keyed barrier";
  static constexpr std::size_t outputs = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// A keyed barrier in the session's container. Components of elements are inserted by key; a step that takes elements
/// waits, without holding a thread, until all components of enough elements have been inserted.
template <type... Components> class keyed_barrier {
 public:
  static_assert(sizeof...(Components) > 0, "a keyed barrier needs at least one component");
  keyed_barrier(graph& g, std::string name) try : graph_(&g), about_{std::move(name), {Components...}} {
    about_.check();
  } catch (...) {
    rethrow_as_error();
  }

  /// Returns inserts component `Which` of elements: a row of `values` for each key. The step fails with
  /// error(invalid_argument) if an element already has the component, and with error(cancelled) for a new key in a
  /// closed barrier; then nothing is inserted.
  template <std::size_t Which, operand K, operand X> operation insert(K keys, X values) const try {
    static_assert(Which < sizeof...(Components), "keyed_barrier: the number of the component is out of range");
    if constexpr (typed<X>)
      static_assert(accepts(stacked(std::get<Which>(std::tuple{Components...}), unknown), X::static_type),
                    "keyed_barrier: the rows of the values are not of the component's type");
    return add<ops::keyed_insert_op>(static_cast<std::int64_t>(Which), false, {keys, values});
  } catch (...) {
    rethrow_as_error();
  }
  /// Removes and returns the keys and components of N complete elements, stacked, in the order of their first
  /// insertions. Waits for them; fails with error(out_of_range) and removes nothing if a closed barrier can't get N.
  template <std::int64_t N> auto take_many() const {
    static_assert(N >= 0, "take_many: the number of elements is negative");
    return taken<dim(N)>(add<ops::keyed_take_op>(N, false, {}));
  }
  /// Returns the same, but at the end of a closed barrier the remaining elements, if there are any.
  template <std::int64_t N> auto take_up_to() const {
    static_assert(N > 0, "take_up_to: the number of elements is not positive");
    return taken<unknown>(add<ops::keyed_take_op>(N, true, {}));
  }
  /// Closes the barrier to new keys. Elements in it may still get their other components, unless `cancel`.
  operation close(bool cancel = false) const { return add<ops::keyed_close_op>(0, cancel, {}); }
  /// Returns the number of complete, or of incomplete, elements when the node runs.
  expr<of<std::int64_t>> ready_size() const { return {add<ops::keyed_size_op>(0, false, {})}; }
  expr<of<std::int64_t>> incomplete_size() const { return {add<ops::keyed_size_op>(0, true, {})}; }

  /// Returns the barrier in a container.
  std::shared_ptr<keyed_barrier_state> in(container& c) const {
    return c.keyed_barrier(about_.barrier, about_.components);
  }

 private:
  template <class Op> value add(std::int64_t number, bool flag, std::vector<value> const& x) const try {
    auto a = about_;
    a.number = number;
    a.fewer = flag;
    return record_erased<Op>(*graph_, a, x, about_.barrier + "/" + std::string(Op::name));
  } catch (...) {
    rethrow_as_error();
  }
  template <dim Count> static auto taken(value v) {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return std::tuple{expr<of<std::string, Count>>{v},
                        expr<stacked(Components, Count)>{{v.graph, v.node, static_cast<std::uint32_t>(Index + 1)}}...};
    }(std::make_index_sequence<sizeof...(Components)>{});
  }

  graph* graph_;
  ops::keyed_attributes about_;
};

#if RILL_RUNTIME

namespace ops {

RILL_INLINE std::vector<type> keyed_operation::infer(attributes const& a, std::span<type const> x) {
  a.check();
  expects(x.empty(), "a keyed barrier's operation takes no inputs here");
  return {};
}

RILL_INLINE std::vector<type> keyed_insert_op::infer(attributes const& a, std::span<type const> x) {
  a.check();
  expects(a.number >= 0 && a.number < static_cast<std::int64_t>(a.components.size()),
          "keyed_insert: the barrier has no such component");
  expects(accepts(type(dtype::string, {unknown}), x[0]), "keyed_insert: the keys are not a vector of strings");
  auto const& component = a.components[static_cast<std::size_t>(a.number)];
  if (!accepts(stacked(component, unknown), x[1]))
    throw error(code::invalid_argument, "keyed_insert: component " + std::to_string(a.number) + " of the barrier '" +
                                            a.barrier + "' takes rows of " + component.text() + ", and " +
                                            with_article(x[1]) + " came");
  if (x[0].has_rank() && x[1].has_rank()) agree(x[0][0], x[1][0], "keyed_insert: there is not a value for each key");
  return {};
}

RILL_INLINE std::vector<type> keyed_take_op::infer(attributes const& a, std::span<type const> x) {
  keyed_operation::infer(a, x);
  expects(a.number >= 0, "keyed_take: the number of elements is negative");
  auto const count = a.fewer ? unknown : dim(a.number);
  std::vector<type> types{type(dtype::string, {count})};
  for (auto const& c : a.components) types.push_back(stacked(c, count));
  return types;
}

RILL_INLINE std::vector<type> keyed_size_op::infer(attributes const& a, std::span<type const> x) {
  keyed_operation::infer(a, x);
  return {type(dtype::int64)};
}

}  // namespace ops

namespace ops {

RILL_INLINE kernel keyed_insert_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return kernel([b = r.state.keyed_barrier(a.barrier, a.components), which = static_cast<std::size_t>(a.number),
                 of = r.inputs[1]](kernel_call const& call) {
    auto const count = of[0].extent;
    auto const* const first = call.in<std::string>(0);
    auto const all = detail::copied(of, call.in(1));
    std::vector<tensor> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(all.rows(i, i + 1).reshaped(row_of(of).shape()));
    b->insert(which, {first, first + count}, values);
  });
}

RILL_INLINE kernel keyed_take_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return detail::waiting(
      [b = r.state.keyed_barrier(a.barrier, a.components), wanted = static_cast<std::size_t>(a.number),
       fewer = a.fewer](kernel_call const& call) {
        auto const request = std::make_shared<keyed_request>();
        request->wanted = wanted;
        request->fewer = fewer;
        detail::suspend(call, b, request, [to = call.owned, b](keyed_request& served) {
          hand_over(b->components(), served.elements, to);
        });
        b->take(request);
      },
      true);
}

RILL_INLINE void keyed_take_op::hand_over(std::vector<type> const& components, std::vector<keyed_element>& taken,
                                          tensor* to) {
  to[0] = tensor(dtype::string, {static_cast<std::int64_t>(taken.size())});
  std::vector<queue_element> elements;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    to[0].mutable_data<std::string>()[i] = std::move(taken[i].key);
    elements.push_back({std::move(taken[i].parts)});
  }
  for (std::size_t i = 0; i < components.size(); ++i)
    to[i + 1] = detail::stack_component(elements, i, components[i], false);
}

RILL_INLINE kernel keyed_close_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return kernel(
      [b = r.state.keyed_barrier(a.barrier, a.components), cancel = a.fewer](kernel_call const&) { b->close(cancel); });
}

RILL_INLINE kernel keyed_size_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return kernel([b = r.state.keyed_barrier(a.barrier, a.components), incomplete = a.fewer](kernel_call const& call) {
    *call.out<std::int64_t>(0) = incomplete ? b->incomplete() : b->ready();
  });
}

}  // namespace ops

#endif

}  // namespace rill
