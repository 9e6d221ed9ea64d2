// A session: runs steps of a graph (white paper §2; OSDI'16 §3).
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <typeindex>
#include <utility>
#include <vector>

#include "rill/run/executor.hpp"
#include "rill/run/feed.hpp"
#include "rill/run/prepared.hpp"

namespace rill {

/// Runs steps of one graph, which may grow meanwhile. Threads may run steps at the same time. The graph must outlive
/// it.
class session {
 public:
  explicit session(rill::graph& g, session_options options = {});
  ~session();
  session(session const&) = delete;  // prepared steps and threads know where it lies
  session& operator=(session const&) = delete;

  /// Runs what the fetches need with the given feeds. A typed handle yields a tensor_of its type, an erased one or a
  /// name ("name:port") a tensor, an operation nothing; several results come as a tuple. `timeout`, `std::stop_token`
  /// and `observe` may stand among the fetches.
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
    run_options how;
    auto const r = request(how, feeds, fetches...);
    auto step = how.begin();
    auto results = executor_.run(r, step);
    return detail::results_of<F...>(results);
  }
  /// Fetches by name, as many as the run decides.
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

  /// Starts what `run` would run, and returns; the last argument, `done`, is called when the step has ended, with an
  /// `expected` of what `run` returns. A step that was started holds no thread while it waits, for a queue for
  /// instance. The session's pool works on it, with as many threads of its own as the session has: the calling thread
  /// does not.
  ///
  /// `done` is called once, by a thread of the pool, never within `start`, and holds no lock. It may start steps; it
  /// must not run one, which would take a thread from the pool, nor end the session, and if it throws, std::terminate
  /// is called. If `start` throws, because the step can't be compiled for instance, `done` is never called. The
  /// session's end cancels the steps that were started, and waits until they have ended.
  template <class... A> void start(std::initializer_list<feed> feeds, A&&... fetches_and_done) {
    start(std::span<feed const>(feeds.begin(), feeds.size()), std::forward<A>(fetches_and_done)...);
  }
  template <class... A> void start(std::vector<feed> const& feeds, A&&... fetches_and_done) {
    start(std::span<feed const>(feeds), std::forward<A>(fetches_and_done)...);
  }
  template <class... A> void start(std::span<feed const> feeds, A&&... fetches_and_done) {
    auto all = std::forward_as_tuple(std::forward<A>(fetches_and_done)...);
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      start_with(feeds, std::get<sizeof...(K)>(std::move(all)), std::get<K>(all)...);
    }(std::make_index_sequence<sizeof...(A) - 1>{});
  }
  template <class... A>
    requires(sizeof...(A) > 0 &&
             !std::convertible_to<std::tuple_element_t<0, std::tuple<A..., void>>, std::span<feed const>>)
  void start(A&&... fetches_and_done) {
    start(std::span<feed const>(), std::forward<A>(fetches_and_done)...);
  }

  /// A step that is compiled once (for each set of extents) and then called like a function of its inputs' tensors:
  /// `auto step = s.prepare(inputs(image, label), outputs(loss), train); float l = step(images, labels);`
  /// A `timeout`, `std::stop_token` or `observe` among the targets holds for each call.
  template <class... I, class... O, class... Targets>
  auto prepare(inputs_of<I...> in, outputs_of<O...> out, Targets const&... targets) {
    static_assert(detail::one_of_each<Targets...>,
                  "a run has one timeout, one std::stop_token and one observer at the most");
    run_options how;
    std::vector<operation> what;
    [[maybe_unused]] auto const take = [&]<class Each>(Each const& each) {
      if constexpr (detail::run_option<Each>) how.add(each);
      else what.push_back(operation(each));
    };
    only_errors([&] { (take(targets), ...); });
    return prepared<inputs_of<I...>, outputs_of<O...>>(executor_, in, out, what, how);
  }

  /// Returns the graph whose steps it runs.
  rill::graph& graph() const { return executor_.graph(); }
  /// Where the variables are.
  container& state() const { return executor_.state(); }
  /// Those that work on a step, the caller included.
  int threads() const { return executor_.threads(); }
  /// Steps run so far; random numbers are drawn by it, so a checkpoint keeps it.
  std::uint64_t steps() const { return executor_.steps(); }
  /// The next step is counted, and draws, as if so many had run.
  void set_steps(std::uint64_t n) { executor_.set_steps(n); }

  /// What the passes did to a run of these fetches, and the plan that came of it, as text.
  template <class... F> std::string explain(std::span<feed const> feeds, F const&... fetches) {
    static_assert(detail::one_of_each<F...>, "a run has one timeout, one std::stop_token and one observer at the most");
    run_options how;
    return executor_.explain(request(how, feeds, fetches...));
  }
  template <class... F> std::string explain(std::initializer_list<feed> feeds, F const&... fetches) {
    return explain(std::span<feed const>(feeds.begin(), feeds.size()), fetches...);
  }
  /// Gives memory back that is kept for the next step, that of loops, branches and functions as well.
  void trim() { executor_.trim(); }
  /// The R that belongs to the session and ends just before it, made when it is first asked for: threads that run its
  /// steps live so.
  template <class R> R& companion() {
    std::lock_guard lock(companions_mutex_);
    auto& place = companions_[typeid(R)];
    if (!place) place = std::make_shared<R>();
    return *static_cast<R*>(place.get());
  }
  /// The untyped way in, for who builds run requests of his own.
  rill::executor& executor() { return executor_; }

 private:
  template <class... F> run_request request(run_options& how, std::span<feed const> feeds, F const&... fetches) {
    run_request r;
    for (auto const& f : feeds) executor_.add_feed(r, f.by_name ? graph().find(*f.by_name) : f.to, f.with);
    (add(r, how, fetches), ...);
    return r;
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
    else if constexpr (std::same_as<F, operation>) executor_.add_target(r, f);
    else if constexpr (std::convertible_to<F const&, std::string_view>) executor_.add_fetch(r, graph().find(f));
    else executor_.add_fetch(r, f);
  }

  rill::executor executor_;
  std::mutex companions_mutex_;
  std::map<std::type_index, std::shared_ptr<void>> companions_;
};

#if RILL_RUNTIME
RILL_INLINE session::session(rill::graph& g, session_options options) : executor_(g, std::move(options)) {}
RILL_INLINE session::~session() { executor_.end_started_steps(); }
#endif

}  // namespace rill
