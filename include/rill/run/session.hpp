// A session: runs steps of a graph (white paper §2; OSDI'16 §3).
#pragma once
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "rill/base/deadline.hpp"
#include "rill/ops/state/variable.hpp"
#include "rill/run/executor.hpp"
#include "rill/run/feed.hpp"
#include "rill/run/prepared.hpp"

namespace rill {

namespace detail {
/// Catches `{x, t}` where a list, `{{x, t}}`, is expected.
struct lone_feed {
  template <class T>
    requires(std::derived_from<T, tensor> || std::is_arithmetic_v<T>)
  lone_feed(value const&, T const&) {}
};
}  // namespace detail

/// Runs steps of one graph, which may grow meanwhile. Several threads may run steps at the same time. The graph must
/// outlive the session.
class session {
 public:
  explicit session(rill::graph& g, session_options options = {});
  /// A session whose steps run on tasks of a cluster. (Braces after the graph are options: they deduce no type.)
  template <std::same_as<rill::target> T>
  session(rill::graph& g, T on, session_options options = {})
      : session(g, on_tasks(std::move(options), std::move(on))) {}
  ~session();
  session(session const&) = delete;  // prepared steps and threads have its address
  session& operator=(session const&) = delete;

  /// Runs the nodes that the fetches need, with the given feeds. A typed handle gives a tensor_of its type, an untyped
  /// handle or a name ("name:port") a tensor, and an operation, or a vector of operations, runs without a result.
  /// Returns one result as it is, and several as a tuple; `outputs(…)` stands for its fetches. `timeout`,
  /// `std::stop_token`, `observe` and `client` may stand among the fetches.
  template <class... F> auto run(std::initializer_list<feed> feeds, F const&... fetches) {
    return run(std::span<feed const>(feeds.begin(), feeds.size()), fetches...);
  }
  template <class... F>
    requires(sizeof...(F) > 0 &&
             !std::same_as<std::tuple_element_t<0, std::tuple<F..., void>>, std::span<feed const>> &&
             !std::same_as<std::tuple_element_t<0, std::tuple<F..., void>>, std::vector<feed>>)
  auto run(F const&... fetches) {
    return run(std::span<feed const>(), fetches...);
  }
  template <class... F> auto run(std::vector<feed> const& feeds, F const&... fetches) {
    return run(std::span<feed const>(feeds), fetches...);
  }
  template <class... F> auto run(std::span<feed const> feeds, F const&... fetches) {
    static_assert(detail::one_of_each<F...>, "a run has one timeout, one std::stop_token and one observer at the most");
    static_assert(detail::one_client<F...>, "a run has one client at the most");
    static_assert(detail::are_fetches<F...>,
                  "run: fetches are handles, operations, names, rill::outputs(...) or one std::vector<rill::value>; "
                  "options are a timeout, a std::stop_token, an observe and a client");
    run_options how;
    auto const r = request(how, feeds, fetches...);
    auto step = how.begin();
    auto results = executor_.run(r, step);
    return detail::results_of<F...>(results);
  }
  /// Runs what many values need, and the operations among `more`, which may be options, too. Returns one tensor for
  /// each value.
  template <class... F>
  std::vector<tensor> run(std::span<feed const> feeds, std::vector<value> const& fetches, F const&... more) {
    static_assert(std::is_void_v<decltype(detail::results_of<F...>({}))>,
                  "run: operations and options may stand behind a vector of values; put other fetches into the vector");
    run_options how;
    auto r = request(how, feeds);
    add(r, how, fetches);
    (add(r, how, more), ...);
    auto step = how.begin();
    return executor_.run(r, step);
  }
  template <class... F>
  std::vector<tensor> run(std::initializer_list<feed> feeds, std::vector<value> const& fetches, F const&... more) {
    return run(std::span<feed const>(feeds.begin(), feeds.size()), fetches, more...);
  }
  template <class... F>
  std::vector<tensor> run(std::vector<feed> const& feeds, std::vector<value> const& fetches, F const&... more) {
    return run(std::span<feed const>(feeds), fetches, more...);
  }
  template <class... F> std::vector<tensor> run(std::vector<value> const& fetches, F const&... more) {
    return run(std::span<feed const>(), fetches, more...);
  }
  /// Runs what fetches by name need, and returns one tensor for each name.
  std::vector<tensor> run(std::span<feed const> feeds, std::vector<std::string> const& names) {
    run_options how;
    auto r = request(how, feeds);
    for (auto const& n : names) executor_.add_fetch(r, graph().find(n));
    auto step = how.begin();
    return executor_.run(r, step);
  }
  std::vector<tensor> run(std::initializer_list<feed> feeds, std::vector<std::string> const& names) {
    return run(std::span<feed const>(feeds.begin(), feeds.size()), names);
  }

  /// Refuses a handle and its tensor in one pair of braces, with a sentence in place of a list of functions.
  template <class... F> tensor run(detail::lone_feed, F const&...) {
    constexpr bool in_two_braces = sizeof...(F) == SIZE_MAX;
    static_assert(in_two_braces, "run: feeds are a list of pairs, in braces of their own: run({{x, t}}, y)");
    return {};
  }

  /// Starts the step that `run` would run, and returns. The last argument, `done`, is called when the step has ended,
  /// with an `expected` of the result of `run`. A started step holds no thread while it waits, for a queue for
  /// instance. The threads of the session's pool run it; the calling thread does not.
  ///
  /// `done` is called once, by a thread of the pool, without a lock and never within `start`. It may start steps. It
  /// must not run a step, because that would hold a thread of the pool, and must not destroy the session. If it throws,
  /// std::terminate is called. If `start` throws, because the step can't be compiled for instance, `done` is never
  /// called. The destructor of the session cancels the started steps, and waits until they have ended.
  template <class... A> void start(std::initializer_list<feed> feeds, A&&... fetches_and_done) {
    start(std::span<feed const>(feeds.begin(), feeds.size()), std::forward<A>(fetches_and_done)...);
  }
  template <class... A> void start(std::vector<feed> const& feeds, A&&... fetches_and_done) {
    start(std::span<feed const>(feeds), std::forward<A>(fetches_and_done)...);
  }
  template <class... A> void start(std::span<feed const> feeds, A&&... fetches_and_done) {
    static_assert(detail::are_fetches_and_done<std::tuple<A...>, std::make_index_sequence<sizeof...(A) - 1>>,
                  "start: fetches are handles, operations, names or rill::outputs(...); "
                  "options are a timeout, a std::stop_token, an observe and a client");
    constexpr bool ends_in_function =
        !std::convertible_to<std::tuple_element_t<sizeof...(A) - 1, std::tuple<A...>>, operation>;
    static_assert(ends_in_function, "start: its last argument is called with a rill::expected of what run returns");
    if constexpr (ends_in_function) {
      auto all = std::forward_as_tuple(std::forward<A>(fetches_and_done)...);
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        start_with(feeds, std::get<sizeof...(K)>(std::move(all)), std::get<K>(all)...);
      }(std::make_index_sequence<sizeof...(A) - 1>{});
    }
  }
  template <class... A>
    requires(sizeof...(A) > 0 &&
             !std::convertible_to<std::tuple_element_t<0, std::tuple<A..., void>>, std::span<feed const>>)
  void start(A&&... fetches_and_done) {
    start(std::span<feed const>(), std::forward<A>(fetches_and_done)...);
  }

  /// Returns a step that is compiled once for each list of extents, and called like a function of its inputs' tensors:
  /// `auto step = s.prepare(inputs(image, label), outputs(loss), train); float l = step(images, labels);`
  /// A `timeout`, `std::stop_token`, `observe` or `client` among the targets applies to each call.
  /// Inputs, or outputs, may be a vector of values: the step is called with a vector of tensors, or returns one.
  template <class Inputs, class Outputs, class... Targets>
  auto prepare(Inputs const& in, Outputs const& out, Targets const&... targets) {
    constexpr bool has_inputs = detail::step_inputs<Inputs>, has_outputs = detail::step_outputs<Outputs>;
    static_assert(has_inputs, "prepare: the first argument is rill::inputs(x, y) or a std::vector<rill::value>");
    static_assert(has_outputs || !has_inputs,
                  "prepare: the second argument is rill::outputs(z) or a std::vector<rill::value>");
    static_assert(detail::one_of_each<Targets...>,
                  "a run has one timeout, one std::stop_token and one observer at the most");
    static_assert(detail::one_client<Targets...>, "a run has one client at the most");
    static_assert(
        (detail::is_target<Targets> && ...),
        "prepare: after the outputs come operations that the step runs, and options: a timeout, a std::stop_token, "
        "an observe and a client");
    run_options how;
    std::vector<operation> what;
    [[maybe_unused]] auto const take = [&]<class Each>(Each const& each) {
      if constexpr (detail::run_option<Each>) how.add(each);
      else if constexpr (std::same_as<Each, std::vector<operation>>) what.insert(what.end(), each.begin(), each.end());
      else if constexpr (std::convertible_to<Each const&, operation>) what.push_back(operation(each));
    };
    only_errors([&] { (take(targets), ...); });
    if constexpr (has_inputs && has_outputs) return prepared<Inputs, Outputs>(executor_, in, out, std::move(what), how);
  }

  /// Gives a variable a value, a copy of `t` in the memory in which the variable lies: steps that run go on with the
  /// value that they began with. Throws error(invalid_argument) if the tensor is not of the variable's type. On tasks a
  /// step does it, for which the variable must have a first value.
  void set(variable_value v, tensor const& t);
  template <type T, type U> void set(variable_expr<T> v, tensor_of<U> const& t) {
    if constexpr (!accepts(T, U)) {
      constexpr auto said = detail::sentence_of_types("set: the tensor is not of the variable's type", U, T);
      detail::named<said>().compiles();
    }
    set(variable_value(v), static_cast<tensor const&>(t));
  }
  /// Moves a variable to the memory of the session's device of that name, "gpu:0", or of its host, "cpu:0": a copy of
  /// its value, for the steps that begin from now on. No step that updates it may run meanwhile, because it would
  /// update the value that is left behind. Variables that must lie together, as an optimizer's state does with what it
  /// trains, are moved one after the other. Throws error(invalid_argument) unless one device has that name, and
  /// error(failed_precondition) if the variable has no value, or lies on a task.
  void move(variable_value v, std::string_view device);
  /// Returns the value of a variable, in the host's memory. Throws error(failed_precondition) if it has none.
  tensor get(variable_value v);
  template <type T> tensor_of<T> get(variable_expr<T> v) { return tensor_of<T>(get(variable_value(v))); }

  /// Returns the graph whose steps the session runs.
  rill::graph& graph() const { return executor_.graph(); }
  /// Returns the container of the variables.
  container& state() const { return executor_.state(); }
  /// Returns the number of threads that work on a step, including the caller's.
  int threads() const { return executor_.threads(); }
  /// Returns the number of steps begun so far.
  std::uint64_t steps() const { return executor_.steps(); }
  /// Sets the number of steps begun so far, and each count of draws: the next step of each client, training or not,
  /// draws the random numbers of its step `n`, counted from 0. Throws error(invalid_argument) if `n` is above 2^63 - 1.
  void set_steps(std::uint64_t n) { executor_.set_steps(n); }
  /// Returns how many steps have drawn random numbers, by client. What the next steps draw depends on these counts, so
  /// checkpoints contain them.
  draw_counts draws() const { return executor_.draws(); }
  /// Sets how many steps have drawn random numbers. Throws error(invalid_argument) if a count is above 2^63 - 1, or the
  /// name of a client is not UTF-8; then nothing changes.
  void set_draws(draw_counts const& counts) { executor_.set_draws(counts); }

  /// Returns the full names of the devices that nodes may be placed on, such as "/job:ps/task:0/device:cpu:0".
  std::vector<std::string> devices() const { return executor_.devices(); }

  /// Waits until all variables of the graph have a value, which another session may give them. Throws
  /// error(deadline_exceeded), with the name of one that has none, after `time`.
  void wait_for_variables(std::chrono::nanoseconds time);

  /// Refuses to print a session, with a sentence in place of a list of what can be printed.
  template <class Stream>
    requires requires(Stream& to) { to.rdbuf(); }
  friend Stream& operator<<(Stream& to, session const&) {
    constexpr bool is_printable = !std::is_class_v<Stream>;
    static_assert(is_printable,
                  "a session has no operator<<: session.explain({}, fetches...) says what a step runs, and "
                  "session.run(handle) returns a tensor, which is printed");
    return to;
  }
  /// Has GoogleTest print nothing but the address of a session that a mock's function takes.
  friend void PrintTo(session const&, std::ostream*) {}

  /// Returns how a run of these fetches is compiled, as text: what the passes did and the instructions that remain, or
  /// the `stages` that stand among the fetches, such as `stages::schedule | stages::memory` or `stages::all`.
  template <class... F> std::string explain(std::span<feed const> feeds, F const&... fetches) {
    static_assert(detail::one_of_each<F...>, "a run has one timeout, one std::stop_token and one observer at the most");
    static_assert(detail::one_client<F...>, "a run has one client at the most");
    static_assert(((detail::is_fetch_or_values<F> || std::same_as<F, stages>) && ...),
                  "explain: fetches are handles, operations, names, rill::outputs(...) and vectors of rill::value; "
                  "options are a timeout, a std::stop_token, an observe and a client, and the stages to explain");
    run_options how;
    auto r = request(how, feeds);
    auto which = stages::summary;
    [[maybe_unused]] auto const take = [&]<class Each>(Each const& each) {
      if constexpr (std::same_as<Each, stages>) which = which | each;
      else add(r, how, each);
    };
    (take(fetches), ...);
    return executor_.explain(r, which);
  }
  template <class... F> std::string explain(std::initializer_list<feed> feeds, F const&... fetches) {
    return explain(std::span<feed const>(feeds.begin(), feeds.size()), fetches...);
  }
  /// Returns what a run of these fetches needs of each memory at once, before it runs: exactly if all extents are
  /// known, else the least, with the nodes of which more is not known.
  template <class... F> memory_report memory(std::span<feed const> feeds, F const&... fetches) {
    static_assert((detail::is_fetch_or_values<F> && ...),
                  "memory: fetches are handles, operations, names, rill::outputs(...) and vectors of rill::value; "
                  "options are a timeout, a std::stop_token, an observe and a client");
    run_options how;
    auto r = request(how, feeds);
    (add(r, how, fetches), ...);
    return executor_.needs(r);
  }
  template <class... F> memory_report memory(std::initializer_list<feed> feeds, F const&... fetches) {
    return memory(std::span<feed const>(feeds.begin(), feeds.size()), fetches...);
  }
  /// Frees the memory that is kept for the next step, in loops, branches and functions too.
  void trim() { executor_.trim(); }
  /// Returns the session's object of type R, which is made by the first call and destroyed just before the session. It
  /// can hold threads that run steps of the session.
  template <class R> R& companion() {
    std::lock_guard lock(companions_mutex_);
    auto& place = companions_[typeid(R)];
    if (!place) place = std::make_shared<R>();
    return *static_cast<R*>(place.get());
  }
  /// Returns the executor, for untyped run requests.
  rill::executor& executor() { return executor_; }

 private:
  template <class... F> run_request request(run_options& how, std::span<feed const> feeds, F const&... fetches) {
    return only_errors([&] {
      run_request r;
      for (auto const& f : feeds) executor_.add_feed(r, f.by_name ? graph().find(*f.by_name) : f.to, f.with);
      (add(r, how, fetches), ...);
      return r;
    });
  }
  template <class Done, class... F> void start_with(std::span<feed const> feeds, Done&& done, F const&... fetches) {
    run_options how;
    auto const typed = [](std::span<tensor> results) { return detail::results_of<F...>(results); };
    only_errors([&] {
      auto const r = request(how, feeds, fetches...);
      executor_.start(r, how.begin(), detail::completion_of(typed, std::forward<Done>(done)));
    });
  }
  template <class F> void add(run_request& r, run_options& how, F const& f) {
    if constexpr (detail::run_option<F>) how.add(f);
    else if constexpr (requires { f.each; }) std::apply([&](auto const&... each) { (add(r, how, each), ...); }, f.each);
    else if constexpr (std::same_as<F, std::vector<operation>>)
      for (auto const& each : f) executor_.add_target(r, each);
    else if constexpr (std::same_as<F, std::vector<value>>)
      for (auto const& each : f) executor_.add_fetch(r, each);
    else if constexpr (std::same_as<F, operation>) executor_.add_target(r, f);
    else if constexpr (std::convertible_to<F const&, std::string_view>) executor_.add_fetch(r, graph().find(f));
    else if constexpr (std::convertible_to<F const&, value>) executor_.add_fetch(r, f);
  }

  // Throws error(invalid_argument) unless v is a variable of this graph.
  void check_variable(variable_value v) const;
  static session_options on_tasks(session_options options, rill::target on) {
    options.target = std::move(on);
    return options;
  }

  rill::executor executor_;
  std::mutex companions_mutex_;
  std::map<std::type_index, std::shared_ptr<void>> companions_;
};

#if RILL_RUNTIME
RILL_INLINE session::session(rill::graph& g, session_options options) : executor_(g, std::move(options)) {}
RILL_INLINE void session::wait_for_variables(std::chrono::nanoseconds time) try {
  auto const latest = deadline_after(time);
  for (;;) {
    auto const is_over = std::chrono::steady_clock::now() >= latest;
    try {
      auto const missing = executor_.variable_without_value();
      if (!missing) return;
      if (is_over)
        throw error(code::deadline_exceeded,
                    "the variable '" + *missing + "' still has no value: which session runs rill::initializer?");
    } catch (error const& e) {
      if (e.cause() != cause::lost || is_over) throw;  // a task that is started anew may be back
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE void session::set(variable_value v, tensor const& t) try {
  check_variable(v);
  auto const& n = v.origin();
  if (!t) throw error(code::invalid_argument, "a variable can't be set to an empty tensor handle", n.name);
  if (state().has_values()) {
    auto variable = state().variable(n.name, v.type());
    auto& memory = executor_.memory_of(*variable);
    return state().replace({{std::move(variable), t.clone(memory)}});
  }
  auto const& g = graph();
  for (auto const& i : g.initials())
    if (g[i.variable].name == n.name) {
      auto const first = g[i.assignment].inputs[1];
      return run({{value{v.graph, first.node, first.port}, t}}, operation(v.graph, i.assignment));
    }
  throw error(
      code::failed_precondition,
      "a variable without a first value can't be set on tasks: record an assignment of a placeholder, and run it",
      n.name);
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE void session::move(variable_value v, std::string_view device) try {
  check_variable(v);
  auto const& name = v.origin().name;
  if (!state().has_values())
    throw error(code::failed_precondition, "a variable of a session on tasks stays on its task, and can't be moved",
                name);
  auto& memory = executor_.memory_called(device);
  auto variable = state().variable(name, v.type());
  auto const value = variable->read();
  if (value.space() != memory.space()) state().replace({{std::move(variable), value.clone(memory)}});
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE tensor session::get(variable_value v) try {
  check_variable(v);
  if (!state().has_values()) return run(static_cast<value const&>(v)).to(host);
  return state().variable(v.origin().name, v.type())->read().to(host);
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE void session::check_variable(variable_value v) const {
  if (v.graph == nullptr) throw error(code::invalid_argument, "expected a variable, got an empty handle");
  if (v.graph != &graph()) throw error(code::invalid_argument, "the variable belongs to another graph", v.name());
  if (v.origin().op->kind != op_kind::variable)
    throw error(code::invalid_argument, "expected a variable, got a value of the graph", v.name());
}
RILL_INLINE session::~session() { executor_.end_started_steps(); }
#endif

}  // namespace rill
