// Compiles the steps of a graph, keeps them, and runs them: what is behind a session's typed face.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "rill/base/expected.hpp"
#include "rill/device/step.hpp"
#include "rill/graph/graph.hpp"
#include "rill/pass/options.hpp"
#include "rill/run/plan/execution.hpp"
#include "rill/run/run_request.hpp"
#include "rill/state/container.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "rill/base/pool.hpp"
#include "rill/run/compile.hpp"
#include "rill/run/compiled_body.hpp"
#include "rill/run/started_step.hpp"
#endif

namespace rill {

class pool;
class axis_binding;
class compiled_step;

/// How a session runs. Everything has a default; what is given is shared, not copied.
struct session_options {
  int threads = 0;                        ///< that compute, the caller's included; 0: one for each processor
  std::shared_ptr<rill::pool> pool = {};  ///< the caller's own; then `threads` is ignored
  std::shared_ptr<container> state = {};  ///< where variables live; empty: a new one
  allocator* memory = nullptr;            ///< of variables and of what steps compute, but for constants, those that
                                          ///< are folded too. Null: host_allocator(). It must outlive all tensors
  log_callback log = {};                  ///< where `print` writes; empty: nowhere
  pass_options passes = {};               ///< which rewrites are done
  rill::execution execution = execution::automatic;  ///< how the nodes of a step are walked
  std::size_t plans = 256;  ///< compiled steps that are kept; the one used longest ago goes first
};

/// Runs steps of one graph. Threads may use it at the same time.
class executor {
 public:
  /// Called when a started step has ended: with its results, one for each fetch, or with what it failed with.
  using completion = std::function<void(std::vector<tensor>, failure)>;

  executor(rill::graph& g, session_options options);
  ~executor();
  executor(executor const&) = delete;
  executor& operator=(executor const&) = delete;

  rill::graph& graph() const { return *graph_; }
  /// Where the variables are.
  container& state() const { return *options_.state; }
  /// Where the memory of variables comes from.
  allocator& memory() const;
  /// Those that work on a step, the caller included.
  int threads() const;
  /// Steps run so far, and the number from which the next ones are counted: random numbers are drawn by it.
  std::uint64_t steps() const;
  void set_steps(std::uint64_t n);

  /// Adds to a request; error(invalid_argument) for what is not this graph's, fed twice, or of another type.
  void add_feed(run_request& r, value to, tensor const& with) const;
  void add_fetch(run_request& r, value const& what) const;
  void add_target(run_request& r, operation const& what) const;

  /// The compiled step of a request, made if need be. That ends with `step`, if it is for one.
  std::shared_ptr<compiled_step> find(run_request const& r, step_context const* step = nullptr);
  /// Whether the step was made for tensors of these types, and variables as they are.
  bool fits(compiled_step const& step, std::span<tensor const> fed) const;
  /// Runs a compiled step; as many results as it fetches.
  void run(compiled_step& compiled, std::span<tensor const> fed, step_context& step, std::span<tensor> results);
  std::vector<tensor> run(run_request const& r, step_context& step);

  /// Returns the compiled step of a request that is to be started. A deadline or a cancellation while it is made is for
  /// the step's `completion`; other errors are thrown.
  expected<std::shared_ptr<compiled_step>> find_to_start(run_request const& r, step_context const& step);
  /// Starts a step on the pool and returns. The step holds no thread while it waits. `done` is called once, by a thread
  /// of the pool, perhaps before this returns; it must not throw. If this throws, `done` is never called.
  void start(expected<std::shared_ptr<compiled_step>> compiled, std::vector<tensor> fed, step_context const& step,
             completion done);
  void start(run_request const& r, step_context const& step, completion done);
  /// Cancels the steps that were started, and waits until they have ended.
  void end_started_steps();

  /// What the passes did to a request, and the plan that came of it, as text.
  std::string explain(run_request const& r);
  /// Gives memory back that is kept for the next step.
  void trim();

 private:
  void run_parts(compiled_step& compiled, std::span<tensor const> fed, step_context& step, std::span<tensor> results,
                 axis_binding* names);
  std::shared_ptr<compiled_step> deferred_step(compiled_step& compiled, std::span<tensor const> with,
                                               step_context const& step);

  struct parts;
  rill::graph* graph_;
  session_options options_;
  std::unique_ptr<parts> parts_;
};

#if RILL_RUNTIME

struct executor::parts {
  struct hash {
    std::size_t operator()(std::vector<std::int64_t> const& k) const {
      std::uint64_t h = 14695981039346656037u;  // FNV-1a, a word at a time
      for (auto v : k) h = (h ^ static_cast<std::uint64_t>(v)) * 1099511628211u;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };
  std::atomic<std::uint64_t> steps{0};
  std::mutex mutex;
  using key_type = std::vector<std::int64_t>;
  struct kept {
    std::shared_ptr<compiled_step> step;
    std::list<key_type const*>::iterator use;
  };
  std::unordered_map<key_type, kept, hash> plans;
  std::list<key_type const*> uses;                      // of the plans, the last first
  std::vector<std::weak_ptr<compiled_step>> forgotten;  // that prepared steps may still keep
  arena_pool arenas;
  detail::in_process<started_steps> started;

  explicit parts(allocator& memory) : arenas(memory) {}

  /// The step that is kept for a key; null: none is.
  std::shared_ptr<compiled_step> find(key_type const& k) {
    std::lock_guard lock(mutex);
    auto const at = plans.find(k);
    if (at == plans.end()) return nullptr;
    uses.splice(uses.begin(), uses, at->second.use);
    return at->second.step;
  }
  void keep(key_type k, std::shared_ptr<compiled_step> made, std::size_t most) {
    std::lock_guard lock(mutex);
    auto const [at, fresh] = plans.try_emplace(std::move(k));
    at->second.step = std::move(made);
    if (fresh) try {
        at->second.use = uses.insert(uses.begin(), &at->first);
      } catch (...) {
        plans.erase(at);
        throw;
      }
    else uses.splice(uses.begin(), uses, at->second.use);
    while (uses.size() > most) forget_last_used();
  }
  void forget_last_used() {
    std::erase_if(forgotten, [](auto const& step) { return step.expired(); });
    auto const last = plans.find(*uses.back());
    if (last->second.step.use_count() > 1) forgotten.push_back(last->second.step);
    uses.pop_back();
    plans.erase(last);
  }

  /// What the session's plans are made for.
  static plan_request planning(session_options const& o, rill::graph const& g, step_context const* step = nullptr) {
    return {.state = *o.state,
            .seed = g.seed(),
            .memory = o.memory ? *o.memory : host_allocator(),
            .threads = o.pool->threads(),
            .execution = o.execution,
            .passes = o.passes,
            .step = step};
  }

  static std::vector<std::int64_t> key(run_request const& r) {
    std::vector<std::int64_t> k{static_cast<std::int64_t>(r.feeds.size()), static_cast<std::int64_t>(r.fetches.size()),
                                static_cast<std::int64_t>(r.targets.size())};
    auto const add = [&](endpoint e) { k.push_back(static_cast<std::int64_t>(std::uint64_t{e.node} << 32 | e.port)); };
    for (auto e : r.feeds) add(e);
    for (auto e : r.fetches) add(e);
    for (auto t : r.targets) k.push_back(t);
    for (auto const& t : r.with) {
      k.push_back(static_cast<std::int64_t>(t.rank()));
      for (auto e : t.shape()) k.push_back(e);
    }
    return k;
  }
};

namespace detail {

// What is fed: who only says more of a value is that value.
inline endpoint fed_endpoint(value const& v) {
  auto const& n = v.origin();
  if (n.op->kind != op_kind::as) return v.endpoint();
  return fed_endpoint({v.graph, n.inputs[0].node, n.inputs[0].port});
}

// Whether there is a feed for an output already; a few are looked through.
inline bool is_fed_again(run_request& r, endpoint to) {
  constexpr std::size_t few = 16;
  if (r.feeds.size() < few) return std::find(r.feeds.begin(), r.feeds.end(), to) != r.feeds.end();
  auto const number = [](endpoint e) { return std::uint64_t{e.node} << 32 | e.port; };
  if (r.fed.empty())
    for (auto e : r.feeds) r.fed.insert(number(e));
  return !r.fed.insert(number(to)).second;
}

}  // namespace detail

RILL_INLINE executor::executor(rill::graph& g, session_options options) try
    : graph_(&g),
      options_(std::move(options)),
      parts_(std::make_unique<parts>(options_.memory ? *options_.memory : host_allocator())) {
  if (!options_.pool)
    options_.pool = std::make_shared<rill::pool>(
        options_.threads > 0 ? options_.threads : static_cast<int>(std::thread::hardware_concurrency()));
  if (!options_.state) options_.state = std::make_shared<container>();
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE executor::~executor() { end_started_steps(); }
RILL_INLINE void executor::end_started_steps() { parts_->started->end(); }

RILL_INLINE allocator& executor::memory() const { return options_.memory ? *options_.memory : host_allocator(); }
RILL_INLINE int executor::threads() const { return options_.pool->threads(); }
RILL_INLINE std::uint64_t executor::steps() const { return parts_->steps.load(); }
RILL_INLINE void executor::set_steps(std::uint64_t n) { parts_->steps.store(n); }

RILL_INLINE void executor::add_feed(run_request& r, value to, tensor const& with) const try {
  if (to.graph != graph_)
    throw error(code::invalid_argument,
                to.graph ? "a fed value belongs to another graph" : "a fed value is an empty handle");
  if (!with) throw error(code::invalid_argument, "it was fed an empty tensor handle", to.name());
  if (to.origin().outputs.empty()) throw error(code::invalid_argument, "a node without outputs was fed", to.name());
  auto const at = detail::fed_endpoint(to);
  if (detail::is_fed_again(r, at)) throw error(code::invalid_argument, "it was fed twice", to.name());
  if (!accepts(to.type(), with.type()))
    throw error(code::invalid_argument, "it is a " + to.type().text() + " and was fed a " + with.type().text(),
                to.name());
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
  auto k = parts::key(r);
  if (auto known = parts_->find(k); known && known->holds()) return known;
  auto made = detail::compile_step(*graph_, r, parts::planning(options_, *graph_, step));
  parts_->keep(std::move(k), made, options_.plans);
  return made;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE bool executor::fits(compiled_step const& step, std::span<tensor const> fed) const {
  auto const& planned = step.plan().fed.all();
  for (std::size_t i = 0; i < fed.size(); ++i) {
    if (planned[i].element != fed[i].element() || planned[i].rank != fed[i].rank()) return false;
    for (std::size_t k = 0; k < fed[i].rank(); ++k)
      if (planned[i][k].extent != fed[i].shape()[k]) return false;
  }
  return step.holds();
}

RILL_INLINE void executor::run(compiled_step& compiled, std::span<tensor const> fed, step_context& step,
                               std::span<tensor> results) try {
  step_scope const scope({*options_.state, options_.log, parts_->arenas, parts_->steps}, compiled, step);
  axis_binding names;
  auto const& open = compiled.names().open;
  run_parts(compiled, fed, step, results, open.empty() ? nullptr : &names);
  for (auto const& r : open) names.bind(r.said, results[r.at].type(), r.node);
} catch (...) {
  rethrow_as_error();
}

// On return `names` holds the axis names that were bound before the last subgraph ran.
RILL_INLINE void executor::run_parts(compiled_step& compiled, std::span<tensor const> fed, step_context& step,
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
  run_parts(*next, with, step, made, names);
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = deferred->result(i, own, made);
}

RILL_INLINE std::shared_ptr<compiled_step> executor::deferred_step(compiled_step& compiled,
                                                                   std::span<tensor const> with,
                                                                   step_context const& step) {
  return compiled.deferred_steps().find(with, [&](std::vector<type> const& types) {
    return detail::compile_pruned(compiled.deferred()->subgraph, types, parts::planning(options_, *graph_, &step));
  });
}

RILL_INLINE expected<std::shared_ptr<compiled_step>> executor::find_to_start(run_request const& r,
                                                                             step_context const& step) {
  try {
    return find(r, &step);
  } catch (error const& e) {
    if (e.code() != code::cancelled && e.code() != code::deadline_exceeded) throw;
    return as_failure(e);
  }
}

RILL_INLINE void executor::start(expected<std::shared_ptr<compiled_step>> compiled, std::vector<tensor> fed,
                                 step_context const& step, completion done) try {
  auto& workers = *options_.pool;
  if (!compiled)
    return started_step::start_failed(workers, *parts_->started, as_failure(compiled.error()), std::move(done));
  auto const compile = [this](auto& first, auto with, auto const& s) { return deferred_step(first, with, s); };
  started_step::start(workers, *parts_->started, {*options_.state, options_.log, parts_->arenas, parts_->steps},
                      *std::move(compiled), std::move(fed), step, compile, std::move(done));
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE void executor::start(run_request const& r, step_context const& step, completion done) {
  start(find_to_start(r, step), r.with, step, std::move(done));
}

RILL_INLINE std::vector<tensor> executor::run(run_request const& r, step_context& step) try {
  std::vector<tensor> results(r.fetches.size());
  run(*find(r, &step), r.with, step, results);
  return results;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::string executor::explain(run_request const& r) try {
  pass_report report;
  auto const made = detail::compile_step(*graph_, r, parts::planning(options_, *graph_), &report);
  auto const then =
      made->deferred() ? "what waits for extents that the step settles is planned when they are known\n" : "";
  return report.text() + made->plan().text() + then;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void executor::trim() {
  std::lock_guard lock(parts_->mutex);
  for (auto& [key, kept] : parts_->plans) kept.step->trim();
  for (auto const& each : parts_->forgotten)
    if (auto const step = each.lock()) step->trim();
  parts_->arenas.trim();
}

#endif

}  // namespace rill
