// A session: runs steps of a graph (white paper §2; OSDI'16 §3).
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rill/base/pool.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/passes.hpp"
#include "rill/pass/prune.hpp"
#include "rill/run/compiled_step.hpp"
#include "rill/run/feed.hpp"

namespace rill {

/// How a session runs. Everything has a default; what is given is shared, not copied.
struct session_options {
  int threads = 0;                         ///< that compute, the caller's included; 0: one for each processor
  std::shared_ptr<rill::pool> pool = {};   ///< the caller's own; then `threads` is ignored
  std::shared_ptr<container> state = {};   ///< where variables live; empty: a new one
  allocator* memory = nullptr;             ///< null: host_allocator(); must outlive all tensors
  log_callback log = {};                   ///< where `print` writes; empty: nowhere
  pass_options passes = {};                ///< which rewrites are done
  std::size_t plans = 256;                 ///< compiled steps that are kept; the oldest goes first
};

template <class Inputs, class Outputs> class prepared;

/// Runs steps of one graph, which may grow meanwhile. Threads may run steps at the same time. The graph must outlive it.
class session {
 public:
  explicit session(rill::graph& g, session_options options = {})
      : graph_(&g),
        options_(std::move(options)),
        pool_(options_.pool ? options_.pool
                            : std::make_shared<rill::pool>(options_.threads > 0 ? options_.threads
                                                                                : static_cast<int>(std::thread::hardware_concurrency()))),
        state_(options_.state ? options_.state : std::make_shared<container>()) {}
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  /// Runs what the fetches need with the given feeds. A typed handle yields a tensor_of its type, an erased one or a name
  /// ("name:port") a tensor, an operation nothing; several results come as a tuple. `timeout` and `cancellation` may
  /// stand among the fetches.
  template <class... F> auto run(std::initializer_list<feed> feeds, F const&... fetches) {
    return run(std::span<feed const>(feeds.begin(), feeds.size()), fetches...);
  }
  template <class... F>
    requires(sizeof...(F) > 0 && !std::same_as<std::tuple_element_t<0, std::tuple<F..., void>>, std::span<feed const>> &&
             !std::same_as<std::tuple_element_t<0, std::tuple<F..., void>>, std::vector<feed>>)
  auto run(F const&... fetches) {
    return run(std::span<feed const>(), fetches...);
  }
  template <class... F> auto run(std::vector<feed> const& feeds, F const&... fetches) {
    return run(std::span<feed const>(feeds), fetches...);
  }
  template <class... F> auto run(std::span<feed const> feeds, F const&... fetches) {
    request r;
    step_context step;
    for (auto const& f : feeds) add_feed(r, f);
    (add_fetch(r, step, fetches), ...);
    auto results = run(r, step);
    std::size_t next = 0;
    auto const take = [&]<class Each>(Each const&) {
      if constexpr (detail::run_option<Each> || std::same_as<Each, operation>) return std::tuple<>{};
      else return detail::fetched<Each>(std::move(results[next++]));
    };
    auto all = [&] {
      std::tuple<decltype(take(fetches))...> parts{take(fetches)...};
      return std::apply([](auto&... part) { return std::tuple_cat(std::move(part)...); }, parts);
    }();
    if constexpr (std::tuple_size_v<decltype(all)> == 0) return;
    else if constexpr (std::tuple_size_v<decltype(all)> == 1) return std::get<0>(std::move(all));
    else return all;
  }
  /// Fetches by name, as many as the run decides.
  std::vector<tensor> run(std::span<feed const> feeds, std::vector<std::string> const& names) {
    request r;
    step_context step;
    for (auto const& f : feeds) add_feed(r, f);
    for (auto const& n : names) r.fetches.push_back(graph_->find(n).endpoint());
    return run(r, step);
  }
  std::vector<tensor> run(std::initializer_list<feed> feeds, std::vector<std::string> const& names) {
    return run(std::span<feed const>(feeds.begin(), feeds.size()), names);
  }

  /// A step that is compiled once (for each set of extents) and then called like a function of its inputs' tensors:
  /// `auto step = s.prepare(inputs(image, label), outputs(loss), train); float l = step(images, labels);`
  template <class... I, class... O, class... Targets>
  auto prepare(inputs_of<I...> in, outputs_of<O...> out, Targets const&... targets) {
    return prepared<inputs_of<I...>, outputs_of<O...>>(*this, in, out, {operation(targets)...});
  }

  rill::graph& graph() const { return *graph_; }
  /// Where the variables are.
  rill::container& state() const { return *state_; }
  int threads() const { return pool_->threads(); }
  /// Steps run so far; random numbers are drawn by it, so a checkpoint keeps it.
  std::uint64_t steps() const { return steps_.load(); }
  void set_steps(std::uint64_t n) { steps_.store(n); }

  /// What the passes did to a run of these fetches, and the plan that came of it, as text.
  template <class... F> std::string explain(std::initializer_list<feed> feeds, F const&... fetches) {
    request r;
    step_context step;
    for (auto const& f : feeds) add_feed(r, f);
    (add_fetch(r, step, fetches), ...);
    pass_report report;
    auto const p = compile(r, &report);
    return report.text() + p->plan().text();
  }

  /// Gives memory back that is kept for the next step.
  void trim() {
    std::lock_guard lock(mutex_);
    for (auto& [key, step] : plans_) step->trim();
  }

  /// A run's signature, and the tensors that are fed.
  struct request {
    std::vector<endpoint> feeds, fetches;
    std::vector<std::uint32_t> targets;
    std::vector<tensor> with;
  };
  /// The compiled step of a request, made if need be.
  std::shared_ptr<compiled_step> find(request const& r) {
    auto k = key(r);
    {
      std::lock_guard lock(mutex_);
      if (auto const at = plans_.find(k); at != plans_.end()) return at->second;
    }
    auto made = compile(r, nullptr);
    std::lock_guard lock(mutex_);
    if (plans_.emplace(k, made).second) ages_.push_back(std::move(k));
    while (ages_.size() > options_.plans) plans_.erase(ages_.front()), ages_.pop_front();
    return made;
  }
  /// Runs a compiled step; `take` reads the results from the activation.
  template <class Take> void execute(compiled_step& compiled, std::span<tensor const> fed, step_context& step, Take&& take) {
    step.number = steps_.fetch_add(1, std::memory_order_relaxed);
    step.log = options_.log ? &options_.log : nullptr;
    if (step.watch) step.watch->step_begins(step.number);
    compiled.run(fed, pool_->parallel(), step, std::forward<Take>(take));
    if (step.watch) step.watch->step_ended(step.number);
  }

 private:
  void own(value const& v, char const* what) const {
    if (v.graph != graph_)
      throw error(code::invalid_argument, std::string(what) + (v.graph ? " belongs to another graph" : " is an empty handle"));
  }
  void add_feed(request& r, feed const& f) {
    auto const to = f.to ? f.to : graph_->find(f.by_name);
    own(to, "a fed value");
    if (!f.with) throw error(code::invalid_argument, "it was fed an empty tensor handle", to.name());
    if (to.origin().outputs.empty()) throw error(code::invalid_argument, "a node without outputs was fed", to.name());
    auto const at = to.endpoint();
    if (std::find(r.feeds.begin(), r.feeds.end(), at) != r.feeds.end())
      throw error(code::invalid_argument, "it was fed twice", to.name());
    if (!accepts(to.type(), f.with.type()))
      throw error(code::invalid_argument, "it is a " + to.type().text() + " and was fed a " + f.with.type().text(), to.name());
    r.feeds.push_back(at);
    r.with.push_back(f.with);
  }
  template <class F> void add_fetch(request& r, step_context& step, F const& f) {
    if constexpr (std::same_as<F, timeout>) step.deadline = std::chrono::steady_clock::now() + f.after;
    else if constexpr (std::same_as<F, cancellation>) step.stop = f;
    else if constexpr (std::same_as<F, observe>) step.watch = f.who;
    else if constexpr (std::same_as<F, operation>) own({f.graph, f.node, 0}, "a target"), r.targets.push_back(f.node);
    else if constexpr (std::convertible_to<F const&, std::string_view>) r.fetches.push_back(graph_->find(f).endpoint());
    else {
      own(f, "a fetched value");
      if (f.port >= f.origin().outputs.size()) throw error(code::invalid_argument, "a node without outputs was fetched: run it as a target", f.name());
      r.fetches.push_back(f.endpoint());
    }
  }

  std::vector<tensor> run(request const& r, step_context& step) {
    auto const compiled = find(r);
    std::vector<tensor> results;
    execute(*compiled, r.with, step, [&](activation const& a) {
      for (std::size_t i = 0; i < a.results(); ++i) results.push_back(a.result(i, r.with));
    });
    return results;
  }

  std::shared_ptr<compiled_step> compile(request const& r, pass_report* report) {
    auto part = prune(*graph_, r.feeds, r.fetches, r.targets);
    std::vector<type> types;
    for (auto const& t : r.with) types.push_back(t.type());
    bind_extents(part, types, *state_);
    rewrite(part, options_.passes, *state_, report);
    return std::make_shared<compiled_step>(plan(part, *state_, graph_->seed(), options_.memory ? *options_.memory : host_allocator(), pool_->threads()));
  }

  static std::vector<std::int64_t> key(request const& r) {
    std::vector<std::int64_t> k{static_cast<std::int64_t>(r.feeds.size()), static_cast<std::int64_t>(r.fetches.size())};
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
  struct hash {
    std::size_t operator()(std::vector<std::int64_t> const& k) const {
      std::uint64_t h = 1469598103934665603u;  // FNV-1a, a word at a time
      for (auto v : k) h = (h ^ static_cast<std::uint64_t>(v)) * 1099511628211u;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };

  rill::graph* graph_;
  session_options options_;
  std::shared_ptr<rill::pool> pool_;
  std::shared_ptr<rill::container> state_;
  std::atomic<std::uint64_t> steps_{0};
  std::mutex mutex_;
  std::unordered_map<std::vector<std::int64_t>, std::shared_ptr<compiled_step>, hash> plans_;
  std::deque<std::vector<std::int64_t>> ages_;
};

/// A step as a function; made by `session::prepare`. One thread at a time calls one of it (copies are free).
template <class... I, class... O> class prepared<inputs_of<I...>, outputs_of<O...>> {
 public:
  prepared(session& s, inputs_of<I...> in, outputs_of<O...> out, std::vector<operation> const& targets) : session_(&s) {
    std::apply([&](auto const&... x) { (check(x, s), ...); (request_.feeds.push_back(x.endpoint()), ...); }, in.each);
    std::apply([&](auto const&... x) { (check(x, s), ...); (request_.fetches.push_back(x.endpoint()), ...); }, out.each);
    for (auto const& t : targets) check(value{t.graph, t.node, 0}, s), request_.targets.push_back(t.node);
    request_.with.resize(sizeof...(I));
  }

  /// Runs the step. Throws what `session::run` throws.
  template <class... T>
    requires(sizeof...(T) == sizeof...(I))
  auto operator()(T const&... tensors) {
    std::size_t next = 0;
    (accept<I>(tensors, next++), ...);
    if (!step_ || changed()) step_ = session_->find(request_);
    step_context step;
    std::tuple<decltype(result_of<O>())...> results;
    session_->execute(*step_, request_.with, step, [&](activation const& a) {
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        ((std::get<K>(results) = decltype(result_of<O>())(a.result(K, request_.with))), ...);
      }(std::make_index_sequence<sizeof...(O)>{});
    });
    for (auto& t : request_.with) t = tensor();
    if constexpr (sizeof...(O) == 1) return std::get<0>(std::move(results));
    else if constexpr (sizeof...(O) > 1) return results;
  }

 private:
  template <class X> static auto result_of() {
    if constexpr (typed<X>) return tensor_of<X::static_type>();
    else return tensor();
  }
  template <class X> void accept(tensor const& t, std::size_t i) {
    if (!t) throw error(code::invalid_argument, "input " + std::to_string(i) + " of a prepared step was given an empty tensor handle");
    request_.with[i] = t;
    if (step_ && changed_at(i)) {
      auto const at = request_.feeds[i];
      auto const wanted = value{&session_->graph(), at.node, at.port};
      if (!accepts(wanted.type(), t.type()))
        throw error(code::invalid_argument, "it is a " + wanted.type().text() + " and was fed a " + t.type().text(), wanted.name());
    }
  }
  template <class X, type T> void accept(tensor_of<T> const& t, std::size_t i) {
    if constexpr (typed<X>) static_assert(accepts(X::static_type, T), "a prepared step is called with a tensor of another type");
    accept<X>(static_cast<tensor const&>(t), i);
  }
  static void check(value const& v, session const& s) {
    if (v.graph != &s.graph()) throw error(code::invalid_argument, "a prepared step mentions another graph's values");
  }
  bool changed_at(std::size_t i) const {
    auto const& planned = step_->plan().fed()[i];
    auto const& t = request_.with[i];
    if (planned.element != t.element() || planned.rank != t.rank()) return true;
    for (std::size_t k = 0; k < t.rank(); ++k)
      if (planned[k].extent != t.shape()[k]) return true;
    return false;
  }
  bool changed() const {
    for (std::size_t i = 0; i < request_.with.size(); ++i)
      if (changed_at(i)) return true;
    return false;
  }

  session* session_;
  session::request request_;
  std::shared_ptr<compiled_step> step_;
};

}  // namespace rill
