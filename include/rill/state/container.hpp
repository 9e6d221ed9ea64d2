// Containers, which keep state between steps.
#pragma once
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "rill/state/accumulator.hpp"
#include "rill/state/keyed_barrier.hpp"
#include "rill/state/queue.hpp"
#include "rill/state/turnstile.hpp"
#include "rill/state/variable.hpp"

namespace rill {

class shard_store;

/// Variables, queues and other state by name. Sessions and graphs that are given the same container share its state
/// (white paper §4.7).
class container {
 public:
  container();
  /// Makes a container for steps that run on tasks, where the values are: it has no state, and to ask it for a variable
  /// or a queue is error(failed_precondition).
  struct of_others {};
  explicit container(of_others) : container() { has_values_ = false; }
  /// Whether variables can have values here.
  bool has_values() const noexcept { return has_values_; }

  /// Returns the variable of this name, created without a value if there is none; throws error(failed_precondition) if
  /// the existing variable has another type.
  std::shared_ptr<variable_state> variable(std::string const& name, type const& t);
  /// Returns the variable of this name, or null if there is none.
  std::shared_ptr<variable_state> find_variable(std::string const& name) const;
  /// Returns the queue of this name, created if there is none; throws error(failed_precondition) if the existing queue
  /// has other properties. The functions below do the same for other kinds of state.
  std::shared_ptr<queue_state> queue(std::string const& name, queue_description const& options);
  /// Returns the accumulator of that name, of gradients of type `of`.
  std::shared_ptr<accumulator_state<dense_sum>> accumulator(std::string const& name, type const& of);
  /// Returns the accumulator of that name, of rows of gradients of type `of`.
  std::shared_ptr<accumulator_state<sparse_sum>> sparse_accumulator(std::string const& name, type const& of);
  /// Returns the mutex of that name.
  std::shared_ptr<mutex_state> mutex(std::string const& name);
  /// Returns the barrier of that name, at which `parties` steps meet.
  std::shared_ptr<barrier_state> barrier(std::string const& name, std::int64_t parties);
  /// Returns the barrier of that name, at which the components of an element meet under a key.
  std::shared_ptr<keyed_barrier_state> keyed_barrier(std::string const& name, std::vector<type> const& components);
  /// Returns a state of type R under this name, created by `make()` if there is none.
  template <class R, class Make> std::shared_ptr<R> other(std::string const& name, Make&& make) try {
    std::lock_guard lock(mutex_);
    std::pair key(std::type_index(typeid(R)), name);
    auto const known = others_.find(key);
    if (known != others_.end()) return std::static_pointer_cast<R>(known->second);
    std::shared_ptr<R> made(make());
    others_.emplace(std::move(key), made);
    return made;
  } catch (...) {
    rethrow_as_error();
  }
  /// Replaces the values of several variables atomically: a step that began before goes on to read and update the old
  /// values, and a step that begins later sees only the new ones. Waits for updates that are running, but for no step.
  /// Throws error(invalid_argument), and changes nothing, if a value has another type than its variable or a variable
  /// occurs twice.
  void replace(std::vector<std::pair<std::shared_ptr<variable_state>, tensor>> values);
  /// Begins a generation of training, a number other than 0: training has gone back to a checkpoint, say. Steps that
  /// run go on with variables of their own, so their updates are lost, and sessions of other generations can begin no
  /// steps (`expect_generation`). Waits for updates that are running, but for no step.
  void begin_generation(std::int64_t number);
  /// Returns the number of the present generation; 0: none has begun.
  std::int64_t generation() const noexcept { return generation_.load(std::memory_order_relaxed); }
  /// Throws error(aborted) if a step of generation `of` must not begin: another generation has begun. Generation 0 is
  /// that of sessions outside of training, whose steps may always begin.
  void expect_generation(std::int64_t of) const {
    if (of != 0 && of != generation()) refuse_generation();
  }
  /// Holds the version of the variables that was the newest when the object was created; its step reads the variables
  /// in this version.
  class reading {
   public:
    explicit reading(container& c) : container_(c), of_(c.versions_.enter()) {}
    ~reading() {
      if (container_.versions_.leave(of_)) container_.forget_unread();
    }
    reading(reading const&) = delete;
    reading& operator=(reading const&) = delete;
    std::uint64_t version() const { return of_.of->number(); }

   private:
    container& container_;
    state_versions::ticket of_;
  };
  /// Returns all variables, sorted by name.
  std::vector<std::shared_ptr<variable_state>> variables() const;
  /// Sets the store for this process's parts of checkpoints; null: none.
  void set_store(std::shared_ptr<shard_store> where);
  /// Returns it.
  std::shared_ptr<shard_store> store() const;
  /// Keeps an object, such as a device in whose memory variables lie, for as long as the container.
  void keep(std::shared_ptr<void const> what);
  /// Removes the values of all variables; running steps keep their snapshots. Queues, accumulators and barriers return
  /// to their initial state; requests that wait at them, or for a mutex, fail with error(aborted). Mutexes that are
  /// held stay held, and other kinds of state stay as they are.
  void reset();

 private:
  template <class State> using by_name = std::map<std::string, std::shared_ptr<State>>;

  /// Returns the state of this name, created from `about` if there is none. `is(state)` returns the arguments that an
  /// existing state was created from; throws error(failed_precondition) if they differ.
  template <class State, class Is, class... About>
  std::shared_ptr<State> find_or_create(by_name<State>& states, std::string const& name, char const* what, Is const& is,
                                        About const&... about);
  template <class State> std::vector<std::shared_ptr<State>> all(by_name<State> const& states) const;

  void forget_unread() noexcept;
  [[noreturn]] static void refuse_generation();
  void expect_values(std::string const& name) const;

  bool has_values_ = true;
  std::atomic<std::int64_t> generation_ = 0;
  std::shared_ptr<shard_store> store_;
  std::set<std::shared_ptr<void const>> kept_;  // destroyed last
  mutable std::mutex mutex_;
  std::mutex replacing_;  // locked before any other
  state_versions versions_;
  by_name<variable_state> variables_;
  by_name<queue_state> queues_;
  by_name<accumulator_state<dense_sum>> accumulators_;
  by_name<accumulator_state<sparse_sum>> sparse_accumulators_;
  by_name<mutex_state> mutexes_;
  by_name<barrier_state> barriers_;
  by_name<keyed_barrier_state> keyed_barriers_;
  std::map<std::pair<std::type_index, std::string>, std::shared_ptr<void>> others_;
};

#if RILL_RUNTIME
namespace detail {

inline std::string description(queue_description const& o) { return o.text(); }
inline std::string description(type const& of) { return "one of type " + of.text(); }
inline std::string description(std::int64_t parties) { return "one for " + std::to_string(parties) + " parties"; }
inline std::string description(std::vector<type> const& components) { return "one of types " + text_of(components); }

}  // namespace detail

template <class State, class Is, class... About>
std::shared_ptr<State> container::find_or_create(by_name<State>& states, std::string const& name, char const* what,
                                                 Is const& is, About const&... about) {
  expect_values(name);
  std::lock_guard lock(mutex_);
  auto const known = states.find(name);
  if (known == states.end()) return states.emplace(name, std::make_shared<State>(name, about...)).first->second;
  [[maybe_unused]] auto const differs = [&](auto const& asked) {
    if (is(*known->second) == asked) return;
    throw error(code::failed_precondition,
                std::string("the container already has ") + what + " of this name that differs: it is " +
                    detail::description(is(*known->second)) + ", but " + detail::description(asked) + " was requested",
                name);
  };
  (differs(about), ...);
  return known->second;
}

template <class State> std::vector<std::shared_ptr<State>> container::all(by_name<State> const& states) const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<State>> list;
  for (auto const& [name, s] : states) list.push_back(s);
  return list;
}

RILL_INLINE container::container() try {
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void container::expect_values(std::string const& name) const {
  if (!has_values_)
    throw error(code::failed_precondition,
                "the session runs on tasks, which have the state of its steps: ask the container of the task, such as "
                "local_cluster::state",
                name);
}
RILL_INLINE std::shared_ptr<variable_state> container::variable(std::string const& name, type const& t) try {
  expect_values(name);
  std::lock_guard lock(mutex_);
  auto const known = variables_.find(name);
  if (known == variables_.end())
    return variables_.emplace(name, std::make_shared<variable_state>(name, t)).first->second;
  auto const& has = known->second->type();
  if (!accepts(has, t))
    throw error(code::failed_precondition,
                "the container already has a variable of this name of type " + has.text() + ", not " + t.text(), name);
  return known->second;
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE void container::set_store(std::shared_ptr<shard_store> where) {
  std::lock_guard const lock(mutex_);
  store_ = std::move(where);
}
RILL_INLINE std::shared_ptr<shard_store> container::store() const {
  std::lock_guard const lock(mutex_);
  return store_;
}
RILL_INLINE void container::keep(std::shared_ptr<void const> what) try {
  std::lock_guard lock(mutex_);
  kept_.insert(std::move(what));
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE std::shared_ptr<variable_state> container::find_variable(std::string const& name) const {
  std::lock_guard lock(mutex_);
  auto const known = variables_.find(name);
  return known == variables_.end() ? nullptr : known->second;
}
RILL_INLINE std::shared_ptr<queue_state> container::queue(std::string const& name,
                                                          queue_description const& options) try {
  return find_or_create(queues_, name, "a queue", [](auto const& q) { return q.options(); }, options);
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE std::shared_ptr<accumulator_state<dense_sum>> container::accumulator(std::string const& name,
                                                                                 type const& of) try {
  return find_or_create(accumulators_, name, "an accumulator", [](auto const& a) { return a.type(); }, of);
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE std::shared_ptr<accumulator_state<sparse_sum>> container::sparse_accumulator(std::string const& name,
                                                                                         type const& of) try {
  return find_or_create(sparse_accumulators_, name, "a sparse accumulator", [](auto const& a) { return a.type(); }, of);
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE std::shared_ptr<mutex_state> container::mutex(std::string const& name) try {
  return find_or_create(mutexes_, name, "a mutex", [](auto const&) { return 0; });
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE std::shared_ptr<barrier_state> container::barrier(std::string const& name, std::int64_t parties) try {
  return find_or_create(barriers_, name, "a barrier", [](auto const& b) { return b.parties(); }, parties);
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE std::shared_ptr<keyed_barrier_state> container::keyed_barrier(std::string const& name,
                                                                          std::vector<type> const& components) try {
  return find_or_create(
      keyed_barriers_, name, "a keyed barrier", [](auto const& b) { return b.components(); }, components);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<std::shared_ptr<variable_state>> container::variables() const try {
  return all(variables_);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void container::replace(std::vector<std::pair<std::shared_ptr<variable_state>, tensor>> values) try {
  std::list<variable_state::replacement> prepared;
  std::set<variable_state const*> once;
  for (auto& [v, t] : values) {
    if (!once.insert(v.get()).second)
      throw error(code::invalid_argument, "the variable occurs twice among the variables to replace", v->name());
    prepared.emplace_back(std::move(v), std::move(t));
  }
  {
    std::lock_guard const alone(replacing_);
    auto& next = versions_.prepare();
    for (auto& each : prepared) each.put(next.number());
    versions_.publish(next);
  }
  forget_unread();
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void container::begin_generation(std::int64_t number) try {
  std::list<variable_state::replacement> prepared;
  for (auto const& v : variables())
    if (v->initialized()) prepared.emplace_back(v, v->read());
  {
    std::lock_guard const alone(replacing_);
    auto& next = versions_.prepare();
    generation_.store(number);  // before the version: a step that begins with this version sees the generation
    for (auto& each : prepared) each.put(next.number());
    versions_.publish(next);
  }
  forget_unread();
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE void container::refuse_generation() {
  throw error(
      {code::aborted, cause::lost},
      "the session belongs to an earlier generation of the training, which has gone back to a checkpoint since");
}

// If memory runs out, unread values stay until the next call.
RILL_INLINE void container::forget_unread() noexcept try {
  std::list<decltype(std::declval<variable_state&>().forget_all_but({}))> unread;  // outlives the locks
  std::lock_guard const alone(replacing_);
  auto const versions = versions_.forget_unread();
  for (auto const& v : all(variables_)) unread.push_back(v->forget_all_but(versions));
} catch (std::bad_alloc const&) {
}

RILL_INLINE void container::reset() try {
  for (auto const& v : variables()) v->reset();
  for (auto const& q : all(queues_)) q->reset();
  for (auto const& a : all(accumulators_)) a->reset();
  for (auto const& a : all(sparse_accumulators_)) a->reset();
  for (auto const& b : all(keyed_barriers_)) b->reset();
  for (auto const& m : all(mutexes_)) m->reset();
  for (auto const& b : all(barriers_)) b->reset();
} catch (...) {
  rethrow_as_error();
}
#endif

}  // namespace rill
