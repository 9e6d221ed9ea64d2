// Compiles the steps of a graph, keeps them, and runs them: the untyped part of a session.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "rill/base/expected.hpp"
#include "rill/device/device.hpp"
#include "rill/device/step.hpp"
#include "rill/graph/graph.hpp"
#include "rill/run/draw_counts.hpp"
#include "rill/run/lanes/memory_report.hpp"
#include "rill/run/plan/stages.hpp"
#include "rill/run/run_request.hpp"
#include "rill/run/session_options.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>

#include "rill/base/float_environment.hpp"
#include "rill/base/pool.hpp"
#include "rill/base/processors.hpp"
#include "rill/device/cpu.hpp"
#include "rill/place/recorded_users.hpp"
#include "rill/run/compile.hpp"
#include "rill/run/compiled_body.hpp"
#include "rill/run/compiled_steps.hpp"
#include "rill/run/plan/session_devices.hpp"
#include "rill/run/started_step.hpp"
#endif

namespace rill {

class axis_binding;
class compiled_step;

namespace detail {

/// Returns the output that is fed: an `as` is looked through, because feeding it feeds its input.
inline endpoint fed_endpoint(value const& v) {
  auto const& n = v.origin();
  if (n.op->kind != op_kind::as) return v.endpoint();
  return fed_endpoint({v.graph, n.inputs[0].node, n.inputs[0].port});
}

}  // namespace detail

/// Runs steps of one graph. Several threads may use it at the same time.
class executor {
 public:
  /// A function that is called when a started step has ended: with one result for each fetch, or with its error.
  using completion = std::function<void(std::vector<tensor>, failure)>;

  executor(rill::graph& g, session_options options);
  ~executor();
  executor(executor const&) = delete;
  executor& operator=(executor const&) = delete;

  rill::graph& graph() const { return *graph_; }
  /// Returns the container of the variables.
  container& state() const { return *options_.state; }
  /// Returns the allocator of variables and of what steps compute.
  allocator& memory() const;
  /// Returns the allocator of the device that holds a variable's value. A variable without a value takes the device
  /// that its node asks for or is `near`, or else the host.
  allocator& memory_of(variable_state const& v) const;
  /// Returns the allocator of the device of that name, which may be partial. Throws error(invalid_argument) unless the
  /// session has one such device.
  allocator& memory_called(std::string_view device) const;
  /// Returns the number of threads that work on a step, including the caller's.
  int threads() const;
  /// Returns the number of steps begun so far. `set_steps` changes it, and each count of draws with it.
  std::uint64_t steps() const;
  void set_steps(std::uint64_t n);
  /// Returns how many steps have drawn random numbers; `set_draws` changes it.
  draw_counts draws() const;
  void set_draws(draw_counts const& counts);

  /// Adds to a request. Throws error(invalid_argument) for a value of another graph, fed twice, or of another type.
  void add_feed(run_request& r, value to, tensor const& with) const;
  void add_fetch(run_request& r, value const& what) const;
  void add_target(run_request& r, operation const& what) const;

  /// Returns the compiled step of a request, and compiles it if necessary. Throws if `step`, which may be null, is
  /// cancelled or late.
  std::shared_ptr<compiled_step> find(run_request const& r, step_context const* step = nullptr);
  /// Whether a step can be run with these tensors: it was compiled for their types, and for the present extents of
  /// variables, and they lie in the host's memory.
  bool fits(compiled_step const& step, std::span<tensor const> fed) const;
  /// Runs a compiled step with tensors that fit it, and sets one result for each fetch.
  void run(compiled_step& compiled, std::span<tensor const> fed, step_context& step, std::span<tensor> results);
  /// Runs a request. Copies what is fed to the host's memory if it lies in a device's.
  std::vector<tensor> run(run_request const& r, step_context& step);

  /// Returns the compiled step of a request that is to be started. If the step is cancelled or late meanwhile, returns
  /// that error, for the step's `completion`; throws other errors.
  expected<std::shared_ptr<compiled_step>> find_to_start(run_request const& r, step_context const& step);
  /// Starts a step on the pool and returns. The step holds no thread while it waits. `done` is called once, by a thread
  /// of the pool, perhaps before `start` returns; it must not throw. If `start` throws, `done` is never called. Copies
  /// what is fed to the host's memory if it lies in a device's.
  void start(expected<std::shared_ptr<compiled_step>> compiled, std::vector<tensor> fed, step_context const& step,
             completion done);
  void start(run_request const& r, step_context const& step, completion done);
  /// Cancels the started steps, and waits until they have ended.
  void end_started_steps();

  /// Returns the tasks that its steps run on; none: this process alone.
  rill::target const& target() const { return options_.target; }
  /// Returns the full names of the devices that nodes may be placed on.
  std::vector<std::string> devices() const;
  /// Returns the name of a variable of the graph that has no value, here or on any task; nothing if all have one.
  std::optional<std::string> variable_without_value() const;
  /// Returns how a request is compiled, as text: the stages in `which`.
  std::string explain(run_request const& r, stages which = stages::summary);
  /// Returns what a run of a request needs of each memory.
  memory_report needs(run_request const& r);
  /// Gives memory back that is kept for the next step.
  void trim();

 private:
  void run_with_deferred(compiled_step& compiled, std::span<tensor const> fed, step_context& step,
                         std::span<tensor> results, axis_binding* names);
  std::shared_ptr<compiled_step> deferred_step(compiled_step& compiled, std::span<tensor const> with,
                                               step_context const& step);

  struct parts;
  rill::graph* graph_;
  session_options options_;
  std::unique_ptr<parts> parts_;
};

#if RILL_RUNTIME

struct executor::parts {
  step_counts counts;
  detail::recorded_users users;
  session_devices devices;  // outlives the plans
  detail::compiled_steps plans;
  arena_pool arenas;
  detail::in_process<started_steps> started;

  parts(session_options const& o, rill::graph const& g)
      : users(g),
        devices(o.devices, {.soft = o.soft_placement,
                            .choose = o.placement || !o.target.tasks.empty() ? o.placement : choose_near_inputs,
                            .recorded = {.find_node = [&g](auto name) { return g.find_node(name); },
                                         .uses = [this](auto name) { return users(name); }},
                            .graph = &g}),
        arenas(o.memory ? *o.memory : host_allocator()) {}

  /// What the session's plans are made for.
  plan_request planning(session_options const& o, rill::graph const& g, step_context const* step = nullptr) {
    bool const here = o.target.tasks.empty();
    return {.state = *o.state,
            .seed = g.seed(),
            .memory = o.memory ? *o.memory : host_allocator(),
            .threads = o.pool->threads(),
            .execution = o.execution,
            .passes = o.passes,
            .step = step,
            .devices = &devices,
            .tasks = here ? nullptr : &o.target.tasks,
            .salt = o.salt.value_or(o.worker.value_or(0)),
            .worker = o.worker.value_or(0)};
  }
};

namespace detail {

// Whether an output is fed already. A few feeds are compared one by one; many are kept in a set.
inline bool is_fed_again(run_request& r, endpoint to) {
  constexpr std::size_t few = 16;
  if (r.feeds.size() < few) return std::find(r.feeds.begin(), r.feeds.end(), to) != r.feeds.end();
  auto const number = [](endpoint e) { return std::uint64_t{e.node} << 32 | e.port; };
  if (r.fed.empty())
    for (auto e : r.feeds) r.fed.insert(number(e));
  return !r.fed.insert(number(to)).second;
}

// Takes out the devices that this machine lacks: without soft placement the session is refused.
inline void drop_absent(session_options& o) {
  std::erase_if(o.devices, [&](auto const& d) {
    auto const why = d->absence();
    if (!why) return false;
    if (!o.soft_placement) throw error(why->kind(), why->message(), {}, d->name());
    if (o.log) o.log("the session does without the device '" + d->name() + "': " + why->message() + "\n");
    return true;
  });
}

// Takes the host, cpu:0, out of the devices of a session: its threads are the session's own. Refuses two devices of one
// name, and the absence of one.
inline session_options with_host(session_options o) {
  if (o.state && !o.target.tasks.empty())
    throw error(code::invalid_argument, "a session on tasks has their variables, and was given a container");
  if (change_session_options) change_session_options(o);
  if (!o.devices.empty() && !o.target.tasks.empty())
    throw error(code::invalid_argument, "a session on tasks has their devices, and was given others");
  for (auto const& t : o.target.tasks)
    if (!t) throw error(code::invalid_argument, "a session was given a null pointer as a task");
  if (!o.worker && !o.target.tasks.empty()) o.worker = o.target.tasks.front()->name().task;
  std::set<std::string> names;
  for (auto const& d : o.devices) {
    if (!d) throw error(code::invalid_argument, "a session was given a null pointer as a device");
    if (device_name::parse(d->name()).index && names.insert(d->name()).second) continue;
    throw error(code::invalid_argument,
                "a session's devices need names of their own, with a type and a number such "
                "as 'gpu:0', and one is called '" +
                    d->name() + "'");
  }
  drop_absent(o);
  std::erase_if(o.devices, [&](auto const& d) {
    auto const* const named = dynamic_cast<cpu_device const*>(d.get());
    if (!named || named->name() != "cpu:0") return false;
    if (!o.pool) o.pool = named->pool();
    return true;
  });
  return o;
}

// Copies what is fed to the host's memory, if some of it lies in a device's.
inline std::vector<tensor> copied_to_host(std::span<tensor const> fed) {
  std::vector<tensor> here;
  for (auto const& t : fed) here.push_back(t.to(host));
  return here;
}
inline bool lies_elsewhere(std::span<tensor const> fed) {
  for (auto const& t : fed)
    if (t.space() != nullptr) return true;
  return false;
}

}  // namespace detail

RILL_INLINE executor::executor(rill::graph& g, session_options options) try
    : graph_(&g), options_(detail::with_host(std::move(options))), parts_(std::make_unique<parts>(options_, g)) {
  if (!options_.pool)
    options_.pool =
        std::make_shared<rill::pool>(options_.threads > 0 ? options_.threads : detail::available_processors());
  bool const here = options_.target.tasks.empty();
  if (!options_.state)
    options_.state = here ? std::make_shared<container>() : std::make_shared<container>(container::of_others());
  for (auto const& d : options_.devices) options_.state->keep(d);
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE executor::~executor() { end_started_steps(); }
RILL_INLINE void executor::end_started_steps() { parts_->started->end(); }

RILL_INLINE allocator& executor::memory() const { return options_.memory ? *options_.memory : host_allocator(); }
RILL_INLINE allocator& executor::memory_of(variable_state const& v) const {
  auto home = v.home();
  auto const* n = graph_->find_node(v.name());
  for (std::size_t i = 0; !home && n && n->device.empty() && !n->colocated.empty() && i < graph_->size(); ++i) {
    n = graph_->find_node(n->colocated);
    auto const beside = n && is_variable(*n) ? state().find_variable(n->name) : nullptr;
    if (beside) home = beside->home();
  }
  auto const wish = device_name::parse(n ? n->device : "");
  for (auto& d : parts_->devices)
    if (home ? *home != nullptr && d.space() == *home : !wish.empty() && matches(wish, device_name::parse(d.name)))
      return d.on->memory();
  // Of a device that the session lacks: its value stays there.
  if (home && *home != nullptr && v.home() == home) return v.read().storage().source();
  return memory();
}
RILL_INLINE allocator& executor::memory_called(std::string_view device) const {
  auto const wish = device_name::parse(device);
  std::vector<allocator*> found;
  if (matches(wish, device_name::parse(host_name))) found.push_back(&memory());
  for (auto& d : parts_->devices)
    if (matches(wish, device_name::parse(d.name))) found.push_back(&d.on->memory());
  if (found.size() == 1) return *found.front();
  std::string names;
  for (auto const& name : devices()) names += (names.empty() ? "" : ", ") + name;
  throw error(code::invalid_argument, "expected the name of one device, and '" + std::string(device) + "' is that of " +
                                          std::to_string(found.size()) + ": there are " + names);
}
RILL_INLINE int executor::threads() const { return options_.pool->threads(); }
RILL_INLINE std::uint64_t executor::steps() const { return parts_->counts.begun(); }
RILL_INLINE void executor::set_steps(std::uint64_t n) {
  only_errors([&] { parts_->counts.set(n); });
}
RILL_INLINE draw_counts executor::draws() const {
  return only_errors([&] { return parts_->counts.draws(); });
}
RILL_INLINE void executor::set_draws(draw_counts const& counts) {
  only_errors([&] { parts_->counts.set(counts); });
}

RILL_INLINE void executor::add_feed(run_request& r, value to, tensor const& with) const try {
  if (to.graph != graph_)
    throw error(code::invalid_argument,
                to.graph ? "a fed value belongs to another graph" : "a fed value is an empty handle");
  if (!with) throw error(code::invalid_argument, "it was fed an empty tensor handle", to.name());
  if (to.origin().outputs.empty()) throw error(code::invalid_argument, "a node without outputs was fed", to.name());
  auto const at = detail::fed_endpoint(to);
  if (detail::is_fed_again(r, at)) throw error(code::invalid_argument, "it was fed twice", to.name());
  if (!accepts(to.type(), with.type()))
    throw error(code::invalid_argument,
                "it is " + with_article(to.type()) + " and was fed " + with_article(with.type()), to.name());
  r.feeds.push_back(at);
  r.with.push_back(with);
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE void executor::add_fetch(run_request& r, value const& v) const try {
  if (v.graph != graph_)
    throw error(code::invalid_argument, !v.graph ? "a fetched value is an empty handle"
                                        : v.graph->is_body()
                                            ? "a fetched value lies inside a loop or a branch: let the "
                                              "body return it"
                                            : "a fetched value belongs to another graph");
  if (v.port >= v.origin().outputs.size())
    throw error(code::invalid_argument, "a node without outputs was fetched: run it as a target", v.name());
  r.fetches.push_back(v.endpoint());
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE void executor::add_target(run_request& r, operation const& o) const try {
  if (o.graph != graph_)
    throw error(code::invalid_argument, o.graph ? "a target belongs to another graph" : "a target is an empty handle");
  r.targets.push_back(o.node);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::shared_ptr<compiled_step> executor::find(run_request const& r, step_context const* step) try {
  auto k = detail::step_key(r);
  if (auto known = parts_->plans.find(k); known && known->holds()) return known;
  auto made = detail::compile_step(*graph_, r, parts_->planning(options_, *graph_, step));
  if (!parts_->devices.empty()) check_memory(report_memory(made->plan(), *options_.state, &parts_->devices));
  parts_->plans.keep(std::move(k), made, options_.plans);
  return made;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE bool executor::fits(compiled_step const& step, std::span<tensor const> fed) const {
  auto const& planned = step.plan().fed.all();
  for (std::size_t i = 0; i < fed.size(); ++i) {
    if (fed[i].space() != nullptr) return false;
    if (planned[i].element != fed[i].element() || planned[i].rank != fed[i].rank()) return false;
    for (std::size_t k = 0; k < fed[i].rank(); ++k)
      if (planned[i][k].extent != fed[i].shape()[k]) return false;
  }
  return step.holds();
}

RILL_INLINE void executor::run(compiled_step& compiled, std::span<tensor const> fed, step_context& step,
                               std::span<tensor> results) try {
  detail::default_float_environment const environment;
  step_scope const scope({*options_.state, options_.log, parts_->arenas, &parts_->counts}, compiled, step);
  axis_binding names;
  auto const& open = compiled.names().open;
  run_with_deferred(compiled, fed, step, results, open.empty() ? nullptr : &names);
  for (auto const& r : open) names.bind(r.said, results[r.at].type(), r.node);
} catch (...) {
  rethrow_as_error();
}

// Runs a compiled step, and then its deferred subgraph, which may have a deferred subgraph again. On return `names`, if
// not null, has the axis names that the last of these subgraphs was compiled with: names of results are checked by it.
RILL_INLINE void executor::run_with_deferred(compiled_step& compiled, std::span<tensor const> fed, step_context& step,
                                             std::span<tensor> results, axis_binding* names) {
  auto* const deferred = compiled.deferred();
  std::vector<tensor> own;
  compiled.run(fed, options_.pool.get(), step, [&](plan_instance const& a) {
    if (deferred) own.resize(a.results());
    auto const to = deferred ? std::span(own) : results;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = a.result(i, fed);
  });
  if (!deferred) {
    if (names) *names = axis_binding(compiled.names().axes);
    return;
  }
  std::vector<tensor> made(deferred->subgraph.outputs.size());
  auto const with = deferred->given(fed, own);
  auto const next = deferred_step(compiled, with, step);
  run_with_deferred(*next, with, step, made, names);
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = deferred->result(i, own, made);
}

RILL_INLINE std::shared_ptr<compiled_step> executor::deferred_step(compiled_step& compiled,
                                                                   std::span<tensor const> with,
                                                                   step_context const& step) {
  return detail::compile_deferred(compiled, with, parts_->planning(options_, *graph_, &step));
}

RILL_INLINE expected<std::shared_ptr<compiled_step>> executor::find_to_start(run_request const& r,
                                                                             step_context const& step) {
  try {
    return find(r, &step);
  } catch (error const& e) {
    if (e.cause() != cause::asked_for) throw;
    return as_failure(e);
  }
}

RILL_INLINE void executor::start(expected<std::shared_ptr<compiled_step>> compiled, std::vector<tensor> fed,
                                 step_context const& step, completion done) try {
  auto& workers = *options_.pool;
  if (detail::lies_elsewhere(fed)) fed = detail::copied_to_host(fed);
  if (!compiled)
    return started_step::start_failed(workers, *parts_->started, as_failure(compiled.error()), std::move(done));
  auto const compile = [this](auto& first, auto with, auto const& s) { return deferred_step(first, with, s); };
  started_step::start(workers, *parts_->started, {*options_.state, options_.log, parts_->arenas, &parts_->counts},
                      *std::move(compiled), std::move(fed), step, compile, std::move(done));
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE void executor::start(run_request const& r, step_context const& step, completion done) {
  start(find_to_start(r, step), r.with, step, std::move(done));
}

RILL_INLINE std::vector<tensor> executor::run(run_request const& r, step_context& step) try {
  std::vector<tensor> results(r.fetches.size());
  auto const compiled = find(r, &step);
  if (detail::lies_elsewhere(r.with)) run(*compiled, detail::copied_to_host(r.with), step, results);
  else run(*compiled, r.with, step, results);
  return results;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::string executor::explain(run_request const& r, stages which) try {
  compile_record record;
  auto const made = detail::compile_step(*graph_, r, parts_->planning(options_, *graph_), &record);
  auto text = rill::explain(record, made->plan(), made->deferred(), which);
  if (!options_.target.tasks.empty() && !has(which, stages::bodies)) text += bodies_text(made->plan(), which);
  if (!parts_->devices.empty() && has(which, stages::memory))
    text += detail::paragraph("memory of each device",
                              report_memory(made->plan(), *options_.state, &parts_->devices).text());
  return text;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::optional<std::string> executor::variable_without_value() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph_->size(); ++i)
    if (auto const& n = (*graph_)[i]; is_variable(n)) names.push_back(n.name);
  std::vector<bool> have(names.size());
  auto const& tasks = options_.target.tasks;
  for (auto const& there :
       detail::values_of_all(detail::ask_all(tasks, [&](auto const& t) { return t->ask_values(names); })))
    for (std::size_t i = 0; i < names.size(); ++i) have[i] = have[i] || there.at(i);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (options_.target.tasks.empty()) {
      auto const v = state().find_variable(names[i]);
      have[i] = v && v->initialized();
    }
    if (!have[i]) return names[i];
  }
  return {};
}
RILL_INLINE std::vector<std::string> executor::devices() const try {
  std::vector<std::string> all;
  auto const& tasks = options_.target.tasks;
  for (auto const& of_task :
       detail::values_of_all(detail::ask_all(tasks, [](auto const& t) { return t->ask_devices(); })))
    for (auto const& d : of_task) all.push_back(d.text());
  if (!all.empty()) return all;
  all.emplace_back(host_name);
  for (auto& d : parts_->devices) all.push_back(d.name);
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE memory_report executor::needs(run_request const& r) try {
  auto const made = detail::compile_step(*graph_, r, parts_->planning(options_, *graph_));
  auto all = report_memory(made->plan(), *options_.state, &parts_->devices);
  if (made->deferred()) all.spaces.front().open.push_back("what is planned when the step has settled its extents");
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void executor::trim() {
  parts_->plans.trim();
  parts_->arenas.trim();
  parts_->devices.trim();
}

#endif

}  // namespace rill
