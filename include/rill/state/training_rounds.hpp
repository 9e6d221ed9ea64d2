// The state of synchronous training (OSDI'16 §4.4): in each round every worker adds one gradient for each variable, and
// worker 0 updates the variables by their average. What a worker does twice in a round counts once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rill/state/accumulator.hpp"

namespace rill {

/// Who takes part in synchronous training.
struct training_worker {
  static constexpr std::int64_t most = 65536;  ///< so that bytes of strangers don't make a task allocate much

  std::int64_t number = 0;      ///< from 0; worker 0 makes the updates
  std::int64_t count = 1;       ///< of all workers
  std::int64_t graph = 0;       ///< the fingerprint of the graph that computes the gradients
  std::int64_t generation = 0;  ///< of the task (container::begin_generation)

  /// Throws error(failed_precondition) unless the worker is one of that many.
  void check() const;
};

/// A wait for the end of a round, or for the average of a round.
struct round_request {
  std::int64_t round = 0, worker = 0;
  std::vector<tensor> average = {};
  /// Called once, without a lock; the failure is null for success. Must not throw.
  std::function<void(round_request&, failure)> finished = {};
};

/// The rounds, and a queue of one token for each worker: the round of its next step. A round has a number that no other
/// has, also after the task that has this state was started anew.
class training_rounds {
 public:
  explicit training_rounds(std::string name) : name_(std::move(name)) {}
  std::string const& name() const { return name_; }
  /// Returns what a worker waits for here, for reports.
  std::string as_text() const;

  /// Returns the round of a worker's step: the same until the worker has waited for its end. The first worker of
  /// another generation begins anew, and without generations a worker 0 with another graph or number of workers. Throws
  /// error(failed_precondition) for any other worker whose graph or number of workers differs.
  std::int64_t begin(training_worker const& who);
  /// Worker 0 has updated the variables: those that wait, and worker 0, get their tokens of the next round.
  void end(std::int64_t round);
  /// Finishes the request when its round has ended, and takes the worker's token.
  void wait(std::shared_ptr<round_request> const& r);
  /// Ends a request that still waits with the failure `why`.
  void give_up(round_request const& wanted, failure why);
  /// Throws error(aborted) if a round is not of this generation, and there are generations.
  static void expect_generation(std::int64_t round, std::int64_t generation);

 private:
  std::vector<std::shared_ptr<round_request>> begin_anew(training_worker const& who);
  failure begun_anew() const;
  void take_token(std::int64_t worker);

  std::string name_;
  mutable std::mutex mutex_;
  training_worker all_ = {.number = -1};  // the number: of the last that set count and graph; -1: nobody has
  std::int64_t round_ = 0;                // that has not ended
  std::vector<std::int64_t> tokens_;      // of each worker the round of its step
  std::vector<std::shared_ptr<round_request>> waiting_;
};

/// The gradients of one variable in a round. They are added in the order of the workers, however they come, so that
/// the bits of the sum depend on nothing else.
class round_sum {
 public:
  explicit round_sum(std::string variable) : variable_(std::move(variable)) {}
  /// Returns the name of the variable.
  std::string const& name() const { return variable_; }
  /// Returns what worker 0 waits for here, for reports.
  std::string as_text() const;

  /// Adds the gradient of one of `workers` workers: a tensor, or indices and rows. Does nothing if the worker's
  /// gradient of this round was added before, and begins the round if it is another than the present one. Throws
  /// error(invalid_argument), and adds nothing, if the extents differ from those of the other gradients. The
  /// gradient's memory need not outlive the call.
  void add(std::int64_t round, std::int64_t worker, std::int64_t workers, std::vector<tensor> const& gradient,
           parallel const& threads = {});
  /// Finishes the request with the average of its round, when all gradients have come; of sparse gradients with the
  /// indices and rows of all workers, in their order, and the rows divided by the number of workers. The average can
  /// be asked for again until the next round begins.
  void take(std::shared_ptr<round_request> const& r);
  /// Ends a request that still waits with the failure `why`, and says whose gradients are missing.
  void give_up(round_request const& wanted, failure why);

 private:
  using requests = std::vector<std::shared_ptr<round_request>>;
  bool is_past(std::int64_t round) const;
  bool is_new(std::int64_t round, std::int64_t worker, std::int64_t workers, requests& late);
  void expect_like_first(std::vector<tensor> const& gradient) const;
  void add_next(std::vector<tensor> gradient, bool owned, parallel const& threads);
  std::vector<tensor> average(parallel const& threads);
  std::string missing() const;

  std::string variable_;
  std::mutex adding_;         // held while a gradient is added; locked before mutex_
  mutable std::mutex mutex_;  // guards the members below, but for those of the one who adds; held briefly
  std::int64_t round_ = -1;
  bool complete_ = false;
  std::vector<bool> came_;  // of each worker, whether its gradient of the round has come
  std::vector<tensor> average_;
  std::vector<std::shared_ptr<round_request>> waiting_;
  // Of the one who adds:
  std::size_t next_ = 0;                    // the worker whose gradient is added next
  std::vector<std::vector<tensor>> early_;  // of each worker, what came before it could be added
  std::vector<std::vector<tensor>> sum_;    // one sum, or the sparse gradients one after the other
  std::vector<tensor> first_;               // the first gradient that came: its extents
  dtype element_ = dtype::float32;          // its element type; the sum's may be wider
};

#if RILL_RUNTIME

namespace detail {

/// Removes the requests from `all` of which `is_done(request)` is true, and returns them.
template <class Done>
std::vector<std::shared_ptr<round_request>> taken_from(std::vector<std::shared_ptr<round_request>>& all,
                                                       Done const& is_done) {
  auto const rest = std::partition(all.begin(), all.end(), [&](auto const& r) { return !is_done(*r); });
  std::vector<std::shared_ptr<round_request>> done(rest, all.end());
  all.erase(rest, all.end());
  return done;
}
/// Returns a tensor with the rows of part `k` of several gradients, one after the other.
inline tensor joined_rows(std::vector<std::vector<tensor>> const& all, std::size_t k) {
  auto extents = all[0][k].shape();
  extents[0] = 0;
  for (auto const& each : all) extents[0] += each[k].shape()[0];
  tensor made(all[0][k].element(), extents);
  auto* to = static_cast<std::byte*>(made.mutable_raw());
  for (auto const& each : all) {
    if (each[k].bytes() != 0) std::memcpy(to, each[k].raw(), each[k].bytes());
    to += each[k].bytes();
  }
  return made;
}
inline void finish_all(std::vector<std::shared_ptr<round_request>> const& all, failure const& why = {}) {
  for (auto const& r : all) r->finished(*r, why);
}

}  // namespace detail

RILL_INLINE void training_worker::check() const {
  if (number < 0 || number >= count || count > most)
    throw error(code::failed_precondition,
                "this is worker " + std::to_string(number) + " of " + std::to_string(count) +
                    ", counted from 0: give rill::replicas the number of all workers, at most " + std::to_string(most) +
                    ", and each session its own in session_options::worker");
}

RILL_INLINE std::int64_t training_rounds::begin(training_worker const& who) {
  who.check();
  std::vector<std::shared_ptr<round_request>> others;
  std::unique_lock lock(mutex_);
  bool const differs = all_.count != who.count || all_.graph != who.graph;
  bool const is_first = all_.number < 0 || all_.generation != who.generation;
  if (is_first || (differs && who.number == 0 && who.generation == 0)) others = begin_anew(who);
  else if (differs)
    throw error(code::failed_precondition,
                "worker " + std::to_string(who.number) + " of " + std::to_string(who.count) +
                    " computes its gradients by another graph than worker " + std::to_string(all_.number) + " of " +
                    std::to_string(all_.count) +
                    ": all must record the same loss, with the same rill::replicas, and worker 0 takes the first step "
                    "of another one");
  if (who.number == 0) all_.number = 0;
  auto const round = tokens_[static_cast<std::size_t>(who.number)];
  auto const why = begun_anew();
  lock.unlock();
  detail::finish_all(others, why);
  return round;
}

// Returns the requests that wait for what is no more.
RILL_INLINE std::vector<std::shared_ptr<round_request>> training_rounds::begin_anew(training_worker const& who) {
  std::random_device random;
  round_ = (who.generation != 0 ? who.generation : std::int64_t{random() & 0x7fffffffu}) << 32;
  all_ = who;
  tokens_.assign(static_cast<std::size_t>(who.count), round_);
  return std::exchange(waiting_, {});
}

RILL_INLINE failure training_rounds::begun_anew() const {
  if (all_.generation != 0)
    return failed({code::aborted, cause::lost}, {"'", name_, "': another generation of the training has begun"});
  return failed(code::aborted, {"'", name_, "': worker 0 has begun to train another graph"});
}

RILL_INLINE void training_rounds::end(std::int64_t round) {
  std::unique_lock lock(mutex_);
  if (round != round_) return;  // worker 0 repeats a step
  ++round_;
  take_token(0);  // whatever else becomes of its step, it does not update the variables by this round again
  auto const done = std::exchange(waiting_, {});
  for (auto const& r : done) take_token(r->worker);
  lock.unlock();
  detail::finish_all(done);
}

RILL_INLINE void training_rounds::expect_generation(std::int64_t round, std::int64_t generation) {
  if (generation != 0 && round >> 32 != generation)
    throw error(
        {code::aborted, cause::lost},
        "the round belongs to an earlier generation of the training, which has gone back to a checkpoint since");
}

RILL_INLINE void training_rounds::take_token(std::int64_t worker) {
  if (worker >= 0 && worker < all_.count) tokens_[static_cast<std::size_t>(worker)] = round_;
}

RILL_INLINE void training_rounds::wait(std::shared_ptr<round_request> const& r) {
  failure why;
  {
    std::lock_guard lock(mutex_);
    if (r->round == round_ && !tokens_.empty()) return waiting_.push_back(r);
    if (r->round == round_ - 1) take_token(r->worker);
    else why = begun_anew();
  }
  r->finished(*r, why);
}

RILL_INLINE std::string training_rounds::as_text() const {
  std::lock_guard lock(mutex_);
  return "worker 0 of " + std::to_string(all_.count) + " to update the variables ('" + name_ + "')";
}

RILL_INLINE void training_rounds::give_up(round_request const& wanted, failure why) {
  std::unique_lock lock(mutex_);
  auto const gone = detail::taken_from(waiting_, [&](auto const& r) { return &r == &wanted; });
  lock.unlock();
  if (gone.empty()) return;
  detail::finish_all(gone, failed(why->kind(), {why->message(), ", waiting for ", as_text()}));
}

// Whether a round has ended since: those that began together have the same upper half (training_rounds::begin_anew).
RILL_INLINE bool round_sum::is_past(std::int64_t round) const { return round >> 32 == round_ >> 32 && round < round_; }

// Whether a gradient is to be added. `late` are the requests that wait for another round.
RILL_INLINE bool round_sum::is_new(std::int64_t round, std::int64_t worker, std::int64_t workers, requests& late) {
  std::lock_guard lock(mutex_);
  if (is_past(round)) return false;  // a worker repeats a step of it
  if (round != round_ || static_cast<std::size_t>(workers) != came_.size()) {
    round_ = round;
    complete_ = false;
    came_.assign(static_cast<std::size_t>(workers), false);
    average_.clear(), sum_.clear(), first_.clear();
    early_.assign(came_.size(), {});
    sum_.reserve(came_.size());  // so that nothing is lost for lack of memory when one is added
    next_ = 0;
    late = detail::taken_from(waiting_, [&](auto const& r) { return r.round != round; });
    return true;
  }
  return !came_.at(static_cast<std::size_t>(worker));
}

RILL_INLINE void round_sum::expect_like_first(std::vector<tensor> const& gradient) const {
  if (first_.empty()) return;
  bool fits = gradient.size() == first_.size();
  for (std::size_t k = 0; fits && k < gradient.size(); ++k) {
    auto const &came = gradient[k].type(), &first = first_[k].type();
    fits = gradient.size() == 1 ? came == first.with(element_)
                                : stacked(row_of(came), unknown) == stacked(row_of(first), unknown);
  }
  if (!fits)
    throw error(code::invalid_argument, "expected a gradient like another worker's, " +
                                            with_article(first_.back().type().with(element_)) + ", got " +
                                            with_article(gradient.back().type()));
}

RILL_INLINE void round_sum::add_next(std::vector<tensor> gradient, bool owned, parallel const& threads) {
  if (gradient.size() == 1 && !sum_.empty()) {
    auto& sum = sum_[0][0];
    detail::add_elements(gradient[0].element(), sum.mutable_raw(), gradient[0].raw(),
                         static_cast<std::size_t>(sum.elements()), threads);
  } else if (gradient.size() == 1) {
    sum_.push_back({owned && size_of(gradient[0].element()) != 2 ? gradient[0] : detail::begin_sum(gradient[0])});
  } else {
    if (!owned)
      for (auto& t : gradient) t = t.clone();
    sum_.push_back(std::move(gradient));
  }
  ++next_;
}

RILL_INLINE void round_sum::add(std::int64_t round, std::int64_t worker, std::int64_t workers,
                                std::vector<tensor> const& gradient, parallel const& threads) {
  training_worker{worker, workers}.check();
  struct finishing {  // without a lock: a step that goes on may add another gradient
    std::string const& variable;
    requests late;
    ~finishing() { detail::finish_all(late, failed(code::aborted, {"'", variable, "': another round has begun"})); }
  } others{variable_, {}};
  std::unique_lock one(adding_);
  auto const at = static_cast<std::size_t>(worker);
  if (!is_new(round, worker, workers, others.late)) return;
  expect_like_first(gradient);
  element_ = gradient.back().element();
  if (at == next_) {
    add_next(gradient, false, threads);
    while (next_ < early_.size() && !early_[next_].empty()) add_next(std::exchange(early_[next_], {}), true, threads);
  } else if (at > next_) {  // an earlier one was added before, when there was no memory for what follows
    std::vector<tensor> kept;
    for (auto const& t : gradient) kept.push_back(t.clone());
    early_[at] = std::move(kept);
  }
  bool const is_last = next_ == early_.size();
  if (is_last && average_.empty()) average_ = average(threads);
  if (first_.empty() && !is_last) first_ = sum_.empty() ? early_[at] : sum_[0];
  std::unique_lock lock(mutex_);
  if (is_last)
    for (auto const& r : waiting_) r->average = average_;
  came_[at] = true;
  complete_ = is_last;
  if (!complete_) return;
  auto const done = std::exchange(waiting_, {});
  lock.unlock();
  one.unlock();
  detail::finish_all(done);
}

RILL_INLINE std::vector<tensor> round_sum::average(parallel const& threads) {
  auto made = sum_[0];
  if (made.size() == 2) made = {detail::joined_rows(sum_, 0), detail::joined_rows(sum_, 1)};
  made.back() = detail::average_of(std::move(made.back()), static_cast<std::int64_t>(early_.size()), element_, threads);
  sum_.clear(), first_.clear();
  return made;
}

RILL_INLINE void round_sum::take(std::shared_ptr<round_request> const& r) {
  failure why;
  {
    std::lock_guard lock(mutex_);
    if (is_past(r->round)) why = failed(code::aborted, {"'", variable_, "': another round has begun"});
    else if (!complete_ || round_ != r->round) return waiting_.push_back(r);
    else r->average = average_;
  }
  r->finished(*r, why);
}

RILL_INLINE void round_sum::give_up(round_request const& wanted, failure why) {
  std::unique_lock lock(mutex_);
  auto const gone = detail::taken_from(waiting_, [&](auto const& r) { return &r == &wanted; });
  auto const who = missing();
  lock.unlock();
  if (!gone.empty()) detail::finish_all(gone, failed(why->kind(), {why->message(), ", waiting for ", who}));
}

RILL_INLINE std::string round_sum::missing() const {
  std::string who;
  for (std::size_t i = 0; i < came_.size(); ++i)
    if (!came_[i]) who += (who.empty() ? "" : ", ") + std::to_string(i);
  return "the gradients of '" + variable_ + "', which these of " + std::to_string(came_.size()) +
         " workers have not added: " + who;
}
RILL_INLINE std::string round_sum::as_text() const {
  std::lock_guard lock(mutex_);
  return missing();
}

#endif

}  // namespace rill
