// Calls of functions. The body is a nested plan, shared by all calls with arguments of the same types.
#pragma once
#include <cstdint>

#include "rill/graph/record_function.hpp"
#include "rill/ops/control/body.hpp"

#if RILL_RUNTIME
#include "rill/base/fiber.hpp"
#include "rill/base/philox.hpp"
#include "rill/device/step.hpp"
#endif

namespace rill::detail {
std::vector<gradient> call_gradient(gradient_request const& r);
}

namespace rill::ops {

/// What operations that call a function share. Their inputs are the function's variables, its arguments and its
/// captures.
struct call_rules {
  static constexpr std::int8_t arity = -2;
  static constexpr std::string_view counts_references = "references";
  static constexpr std::string_view counts_updates = "updates";
  static constexpr std::string_view draws_random = "key";
  static constexpr bool dynamic_output_shape = true;
  struct attributes {
    function_definition const* function = nullptr;
    std::int64_t references = 0, updates = 0;
    std::int64_t key = 0;  ///< the key of this call's random numbers
    static constexpr auto fields(auto const& take) {
      return take(field{"function", &attributes::function}, field{"references", &attributes::references},
                  field{"updates", &attributes::updates}, field{"key", &attributes::key});
    }
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> inputs, effect own);
  template <class> static std::vector<gradient> grad(gradient_request const& r) { return detail::call_gradient(r); }
  static value without_updates(graph& here, node const& n, std::vector<value> const& inputs);
  static path_table paths(node const& n, std::span<std::string_view const> names, path_finder& finder);
  static kernel cpu(kernel_request const& r);
};

struct call_op : call_rules {
  using library = void;
  static constexpr std::string_view name = "call", doc = "calls a function of the graph";
  static std::vector<type> infer(attributes const& a, std::span<type const> inputs);
};
struct reading_call_op : call_rules {
  using library = void;
  static constexpr std::string_view name = "reading_call",
                                    doc = "calls a function that reads variables or draws random numbers";
  static constexpr rill::effect effect = rill::effect::reads;
  static std::vector<type> infer(attributes const& a, std::span<type const> inputs) {
    return call_rules::infer(a, inputs, effect);
  }
};
struct updating_call_op : call_rules {
  using library = void;
  static constexpr std::string_view name = "updating_call", doc = "calls a function that updates variables";
  static constexpr rill::effect effect = rill::effect::writes;
  static std::vector<type> infer(attributes const& a, std::span<type const> inputs) {
    return call_rules::infer(a, inputs, effect);
  }
};

#if RILL_RUNTIME
RILL_INLINE std::vector<type> call_rules::infer(attributes const& a, std::span<type const> inputs, rill::effect own) {
  expects(a.function != nullptr, "call: the function is missing");
  auto const& f = *a.function;
  expects(a.references == static_cast<std::int64_t>(f.references.size()) && a.updates == f.updates &&
              f.references.size() <= inputs.size(),
          "call: its variables are not its function's variables");
  expects(!f.body || own >= f.effect, "call: the function does more than the call says");
  return f.infer(inputs.subspan(f.references.size()));
}
#endif

namespace calls {

/// Returns where an error was; of calls within each other the innermost says how deep it is.
std::string place_in(function_definition const& f, std::int64_t depth);

}  // namespace calls

#if RILL_RUNTIME
RILL_INLINE path_table call_rules::paths(node const& n, std::span<std::string_view const> names, path_finder& finder) {
  auto const& f = *decode<attributes>(n.attributes).function;
  auto table = detail::no_paths(n.outputs.size(), n.inputs.size());
  auto const own = f.references.size();
  bool const known = f.body && detail::add_paths(table, finder.through(f.body), names.first(own), own);
  return known ? table : path_table();
}

namespace calls {

/// The stack that nested calls may use before they continue on a fiber. It is a small part of a thread's stack, because
/// the use before the first call is unknown.
inline constexpr std::uintptr_t most_stack = 256 * 1024;

/// Runs `f(step)`, on a fiber if the stack is nearly used up.
template <class F> void with_stack(step_context& step, F const& f) {
  auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (step.stack == 0) step.stack = here;
  if ((here < step.stack ? step.stack - here : here - step.stack) < most_stack) return f(step);
  detail::fiber fresh([&] {
    step.stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    f(step);
  });
  fresh.resume();
}

/// Returns an error of a function's body as the caller sees it.
RILL_INLINE error located(function_definition const& f, running_call const& call, error const& e) {
  if (detail::placed_errors::holds(e)) return detail::placed_errors::below(0, e);
  auto const at = e.message().find(place_in(f, 1));
  auto text = at != std::string::npos ? e.message().substr(at) : place_in(f, call.depth) + detail::place_of(e);
  auto const outermost = call.outermost();
  return detail::placed_errors::below(outermost < call.depth ? outermost : 0,
                                      {e.kind(), std::move(text), {}, e.device()});
}

}  // namespace calls

RILL_INLINE kernel call_rules::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const own = static_cast<std::size_t>(a.references);
  expects(r.functions != nullptr, "call: a function runs in a plan alone");
  auto* const body = r.functions->find(r, *a.function, r.inputs.subspan(own));
  bool const draws = r.at.op->effect != effect::none;
  detail::body_call const run(r, own);
  kernel k([=, f = a.function, key = static_cast<std::uint64_t>(a.key)](kernel_call const& call) {
    step_context step = call.step;
    if (step.calls >= f->most.calls)
      throw error(code::resource_exhausted, "the function '" + f->name + "' is called within " +
                                                std::to_string(step.calls) +
                                                " calls: its recursion does not end, or needs a higher "
                                                "depth_limit");
    if (step.can_end_early()) step.check();
    running_call const here{f, ++step.calls, step.call};
    step.call = &here;
    if (draws) step.stream = random_stream::key_of(random_stream::key_of(step.stream, key), 0);  // as a loop's row 0
    failure why;
    step.carried = &why;
    try {
      calls::with_stack(step, [&](step_context& with) { run(*body, call, with); });
    } catch (error const& e) {
      if (!call.carried && detail::placed_errors::holds(e, here.depth)) throw;  // as it is: no call copies it
      why = as_failure(e);
    }
    if (!why) return;
    if (!detail::placed_errors::holds(*why, here.depth)) throw calls::located(*f, here, *why);
    if (!call.carried) throw error(*why);
    *call.carried = std::move(why);
  });
  k.allocates_outputs = run.open();
  k.carries_failures = true;
  k.updates_in_place = run.updates_in_place({body});
  return k;
}
#endif

}  // namespace rill::ops

namespace rill {

namespace detail {

/// Records a call in the innermost open body of a graph; `key` is the key of its random numbers, -1 for a new one.
value record_call(graph& g, function_definition const& f, std::vector<value> const& arguments, std::int64_t key = -1);

#if RILL_RUNTIME
RILL_INLINE value record_call(graph& g, function_definition const& f, std::vector<value> const& arguments,
                              std::int64_t key) {
  auto& root = g.outermost();
  f.called_open = f.called_open || !f.body;
  std::vector<value> inputs;
  for (auto v : f.references) inputs.push_back({&root, v, 0});
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  for (auto e : f.captures) inputs.push_back({&root, e.node, e.port});
  std::vector<operation> waits;
  for (auto n : f.waits) waits.emplace_back(&root, n);
  auto const& op = definition_for<ops::call_op, ops::reading_call_op, ops::updating_call_op>(f.effect);
  ops::call_rules::attributes const a{&f, static_cast<std::int64_t>(f.references.size()), f.updates,
                                      key >= 0 ? key : g.random_key()};
  return root.after(waits, [&] { return root.add(op, encode(a), inputs, f.name); });
}
#endif

}  // namespace detail

/// Returns the declared types of a function's arguments and results. Throws error(not_found) if the graph has no
/// function of that name.
function_definition const& find_function(graph const& g, std::string_view name);

/// Calls a function of the graph by its name, for instance in a loaded graph.
erased_results call(graph& g, std::string_view name, std::vector<value> const& arguments);
template <operand... X> erased_results call(graph& g, std::string_view name, X... arguments) try {
  return call(g, name, std::vector<value>{arguments...});
} catch (...) {
  rethrow_as_error();
}

#if RILL_RUNTIME
RILL_INLINE function_definition const& find_function(graph const& g, std::string_view name) try {
  if (auto const* f = g.functions().find(name)) return *f;
  throw error(code::not_found, "the graph has no function '" + std::string(name) + "'");
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE erased_results call(graph& g, std::string_view name, std::vector<value> const& arguments) try {
  auto const made = detail::record_call(g, find_function(g, name), arguments);
  return detail::handles_from<erased_results>(made);
} catch (...) {
  rethrow_as_error();
}

namespace ops {

RILL_INLINE std::vector<type> call_op::infer(attributes const& a, std::span<type const> inputs) {
  return call_rules::infer(a, inputs, rill::effect::none);
}

}  // namespace ops

namespace ops::calls {

RILL_INLINE std::string place_in(function_definition const& f, std::int64_t depth) {
  return "in the function '" + f.name + "'" + (depth > 1 ? ", " + std::to_string(depth) + " calls deep" : "");
}

}  // namespace ops::calls

#endif

}  // namespace rill

#include "rill/ops/control/call_gradient.ipp"
