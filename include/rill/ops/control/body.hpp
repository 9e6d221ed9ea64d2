// What operations with bodies share: recording lambdas, checking what they return, and running a body.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/graph/body.hpp"
#include "rill/graph/paths.hpp"
#include "rill/ops/array/as.hpp"

namespace rill {

/// The results of recorded bodies and functions of erased handles, whose number and types are known only at run time.
struct erased_results {
  operation made;  ///< to run it as a target, or to order nodes after it
  std::vector<value> values;

  std::size_t size() const { return values.size(); }
  value operator[](std::size_t i) const { return values.at(i); }
  auto begin() const { return values.begin(); }
  auto end() const { return values.end(); }
  operator operation() const { return made; }
};

}  // namespace rill

namespace rill::detail {

/// The last of several types, where an option may follow handles.
template <class... X> using last_of = std::tuple_element_t<sizeof...(X) - 1, std::tuple<X...>>;

/// Returns an error's node and sentence with the position of its body.
inline std::string place_of(error const& e) {
  return (e.node().empty() ? ": " : ", node '" + std::string(e.node()) + "': ") + std::string(e.message());
}

/// Returns the variant of an operation that has the effect of the bodies it runs.
template <class Pure, class Reading, class Updating> op_def const& definition_for(effect e) {
  return e == effect::none ? definition<Pure>() : e == effect::reads ? definition<Reading>() : definition<Updating>();
}

/// A handle of several values, such as tensor_array. It declares `parts`, a tuple of operands or such handles;
/// `as_parts()` returns them, and a constructor takes them.
template <class X>
concept compound = !operand<X> && requires(X const& x, typename X::parts const& p) {
  { x.as_parts() } -> std::convertible_to<typename X::parts>;
  X(p);
};
template <class X>
concept handle = operand<X> || compound<X>;

/// Returns the values that make up a handle.
template <handle X> void append_values(std::vector<value>& to, X const& x) {
  if constexpr (operand<X>) to.push_back(x);
  else std::apply([&](auto const&... sub) { (append_values(to, sub), ...); }, x.as_parts());
}
template <handle... X> std::vector<value> values_of(X const&... x) {
  std::vector<value> all;
  (append_values(all, x), ...);
  return all;
}
/// Returns a handle of the next values; `next()` returns one after the other.
template <handle X, class Next> X handle_from(Next&& next) {
  if constexpr (typed<X>) return X{as<X::static_type>(next())};
  else if constexpr (operand<X>) return X{next()};
  else
    return [&]<class... Part>(std::type_identity<std::tuple<Part...>>) {
      return X(std::tuple<Part...>{handle_from<Part>(next)...});
    }(std::type_identity<typename X::parts>{});
}

/// Stands for a result that is not a value of the graph.
struct no_handle {};

/// The handles of a body's results outside of the body: typed handles keep their type.
template <class X> struct handle_outside {
  using type = std::conditional_t<handle<X>, value, no_handle>;
};
template <typed X> struct handle_outside<X> {
  using type = expr<X::static_type>;
};
template <compound X> struct handle_outside<X> {
  using type = X;
};
template <> struct handle_outside<void> {
  using type = std::tuple<>;
};
template <> struct handle_outside<operation> {
  using type = std::tuple<>;
};
template <> struct handle_outside<std::vector<value>> {
  using type = erased_results;
};
template <> struct handle_outside<erased_results> {
  using type = erased_results;
};
template <class... X> struct handle_outside<std::tuple<X...>> {
  using type = std::tuple<std::conditional_t<handle<X>, typename handle_outside<X>::type, no_handle>...>;
};
/// Whether a lambda returns values of the graph.
template <class Outside> inline constexpr bool are_of_graph = !std::same_as<Outside, no_handle>;
template <class... X> inline constexpr bool are_of_graph<std::tuple<X...>> = (are_of_graph<X> && ...);

/// Returns a lambda's results, a handle, a tuple or a vector of handles or nothing, as a list.
template <class F, class... X> std::vector<value> results_of(F const& f, X const&... x) {
  using R = std::remove_cvref_t<decltype(f(x...))>;
  if constexpr (std::is_void_v<R>) {
    f(x...);
    return {};
  } else if constexpr (std::same_as<R, operation>) {
    f(x...);
    return {};
  } else if constexpr (handle<R>) return values_of(f(x...));
  else if constexpr (std::same_as<R, std::vector<value>>) return f(x...);
  else if constexpr (std::same_as<R, erased_results>) return f(x...).values;
  else return std::apply([](auto const&... each) { return values_of(each...); }, f(x...));
}

/// Returns the handles of outputs `at`, `at` + 1, … of a node.
template <class Handles> auto handles_from(value node, std::uint32_t at = 0) {
  auto const next = [&] { return value{node.graph, node.node, at++}; };
  if constexpr (handle<Handles>) return handle_from<Handles>(next);
  else if constexpr (std::same_as<Handles, erased_results>)
    return erased_results{node, erased_outputs(node, node.origin().outputs.size())};
  else
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return Handles{handle_from<std::tuple_element_t<Index, Handles>>(next)...};
    }(std::make_index_sequence<std::tuple_size_v<Handles>>{});
}

/// The captures of several bodies as one list, and their variables, updated ones first.
struct merged_captures {
  std::vector<value> captures, references;
  std::size_t updates = 0;
  rill::effect effect = rill::effect::none;
  std::vector<operation> waits;
};
merged_captures merge_captures(std::vector<std::pair<recorded_body*, std::size_t>> const& bodies);

#if RILL_RUNTIME
/// Returns a table without paths.
RILL_INLINE path_table no_paths(std::size_t results, std::size_t inputs) {
  return path_table(results, std::vector<bool>(inputs));
}

/// Adds the paths through a body whose inputs are the node's inputs from `first` on; the first ones are variables, by
/// name. Returns false if the body's paths are unknown.
RILL_INLINE bool add_paths(path_table& table, body_paths const* through, std::span<std::string_view const> variables,
                           std::size_t first) {
  if (through == nullptr) return false;
  for (std::size_t o = 0; o < through->to_inputs.size(); ++o) {
    for (std::size_t k = 0; k < variables.size(); ++k) table[o][k] = table[o][k] || through->reaches(o, variables[k]);
    for (std::size_t i = 0; i < through->to_inputs[o].size(); ++i)
      table[o][first + i] = table[o][first + i] || through->reaches(o, i);
  }
  return true;
}

/// Runs bodies for a node whose inputs, from `first` on, are their arguments, and whose outputs are their results.
class body_call {
 public:
  body_call(kernel_request const& r, std::size_t first)
      : first_(first),
        outputs_(r.outputs.size()),
        open_(!all_known(r.outputs)),
        arguments_(r.inputs.begin() + static_cast<std::ptrdiff_t>(first), r.inputs.end()) {}
  /// Whether the extents of a result are known only after a body has run: then the kernel allocates its outputs.
  bool open() const { return open_; }
  /// Returns the results that each body computes in the memory of an argument, or returns unchanged.
  std::vector<kernel::shared_memory> updates_in_place(std::initializer_list<compiled_body const*> bodies) const {
    std::vector<kernel::shared_memory> all;
    for (std::uint32_t o = 0; o < outputs_; ++o) {
      auto const over = (*bodies.begin())->overwritten(o);
      if (over >= 0 && std::all_of(bodies.begin(), bodies.end(), [&](auto* b) { return b->overwritten(o) == over; }))
        all.push_back({static_cast<std::uint32_t>(first_ + static_cast<std::size_t>(over)), o});
    }
    return all;
  }

  /// Runs a body, which may leave a failure in `step.carried`.
  void operator()(compiled_body& body, kernel_call const& call, step_context& step) const {
    if (open_ || body.open()) return with_tensors(body, call, step);
    auto const run = body.start();
    for (std::size_t i = first_; i < call.inputs; ++i) run->argument(i - first_, call.in(i));
    for (std::size_t o = 0; o < call.outputs; ++o) run->result(o, call.out(o));
    run->run(call.threads, step);
  }

 private:
  void with_tensors(compiled_body& body, kernel_call const& call, step_context& step) const {
    step.carried = nullptr;
    std::vector<tensor> given;
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      given.push_back(tensor::borrow(arguments_[i], call.in(first_ + i)));
    auto made = body.run(given, call.threads, step);
    for (std::size_t o = 0; o < made.size(); ++o)
      if (open_) call.give(o, std::move(made[o]));
      else tensor::borrow(made[o].type(), call.out(o)).assign(made[o]);
  }

  std::size_t first_, outputs_;
  bool open_;
  std::vector<type> arguments_;
};
#endif

/// Returns the most specific type that includes both: extents that differ are unknown, and so is the rank if one has no
/// rank. Fails with `why` if there is no such type.
type common_type(type const& a, type const& b, char const* why);

#if RILL_RUNTIME

RILL_INLINE merged_captures merge_captures(std::vector<std::pair<recorded_body*, std::size_t>> const& bodies) {
  merged_captures all;
  std::vector<value> updated, read;
  auto const add = [](std::vector<value>& list, value const& v) {
    for (auto const& known : list)
      if (known.endpoint() == v.endpoint()) return;
    list.push_back(v);
  };
  for (auto const& [body, arguments] : bodies) {
    all.effect = std::max(all.effect, body->effect);
    all.waits.insert(all.waits.end(), body->waits.begin(), body->waits.end());
    for (auto const& c : body->captures) add(all.captures, c);
    for (std::size_t i = 0; i < body->references.size(); ++i)
      if (body->updated[i]) add(updated, body->references[i]);
  }
  all.updates = updated.size();
  all.references = std::move(updated);
  for (auto const& [body, arguments] : bodies)
    for (auto const& r : body->references) add(all.references, r);
  for (auto const& [body, arguments] : bodies) body->align(arguments, all.captures);
  return all;
}

RILL_INLINE type common_type(type const& a, type const& b, char const* why) {
  expects(a.element == b.element && (a.rank == b.rank || !a.has_rank() || !b.has_rank()), why);
  if (!a.has_rank() || !b.has_rank()) return type::of_unknown_rank(a.element);
  type t = a;
  for (std::size_t i = 0; i < t.rank; ++i)
    if (a[i] != b[i]) t[i] = unknown;
  return t;
}

#endif

}  // namespace rill::detail
