// A queue of tensors that steps and threads share. Whoever must wait leaves a request and is told when it is done: no
// thread is held meanwhile (white paper §4.6).
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/state/queue_line.hpp"

namespace rill {

/// An enqueue, dequeue or close from the time that it asks until it is told the end.
struct queue_request {
  std::vector<queue_element> elements = {};  ///< to enqueue; or dequeued so far
  std::size_t entered = 0;                   ///< how many of those to enqueue are in
  std::size_t wanted = 0;                    ///< to dequeue
  bool fewer = false;                        ///< at the end of a closed queue fewer will do
  /// Called once, by any thread, without the queue's lock; null for success. It must not throw.
  std::function<void(queue_request&, failure)> finished = {};
  std::shared_ptr<queue_request> next = {};  ///< the queue's own: the one that ends after this
  failure why = {};                          ///< the queue's own: what it ends with
};

/// Elements wait in it for those who ask, and those who ask for elements. First come, first served.
class queue_state {
 public:
  queue_state(std::string name, queue_description options);

  std::string const& name() const { return name_; }
  queue_description const& options() const { return line_.options(); }

  /// Puts all of them in, or takes as many, if that can be done at once and nobody else waits to do it; else nothing
  /// has happened, and a request has to be left.
  bool try_enqueue(std::span<queue_element> elements);
  bool try_dequeue(std::span<queue_element> into);

  using request = std::shared_ptr<queue_request>;
  /// Puts the request's elements in, as room comes. error(cancelled) once the queue is closed.
  void enqueue(request const& r);
  /// Takes as many as are wanted, as they come. What is taken is put back in its place if it never gets them all:
  /// error(out_of_range), or what the queue was closed for, when it is closed and empty.
  void dequeue(request const& r);
  /// Takes no new elements. Those who wait with elements get them in, or fail with error(cancelled) if `cancel`; the
  /// close is done when nobody waits with elements. A queue that is closed may be closed again.
  void close(request const& r, bool cancel = false);
  /// The same for those who don't wait.
  void close(bool cancel = false);
  /// So many threads begin to fill it. A queue that is closed because all that filled it had ended is open again;
  /// error(failed_precondition) if it was closed otherwise. What it returns goes to `end_filling`.
  std::uint64_t begin_filling(std::size_t threads);
  /// A thread that began then fills it no more: the last one closes it. `why`, if any, is what dequeues fail with at
  /// the end, instead of error(out_of_range). `now`: it is closed at once, and those who wait with elements fail.
  /// Nothing happens if it was reset since.
  void end_filling(std::uint64_t since, failure why = {}, bool now = false);
  /// A request that still waits ends with `why`, and has lost nothing.
  void give_up(queue_request const& r, failure why);

  /// Elements in the queue now, but for those of a bucket that wait for others of it.
  std::int64_t size() const;
  bool closed() const;
  /// Requests that wait now.
  std::size_t waiting() const;
  /// Throws the elements away and ends all who wait with error(aborted); the queue is as new.
  void reset();

  /// Its elements, also those that somebody holds who waits for more.
  queue_contents contents();
  /// Puts these in the place of its elements; error(invalid_argument) if one is not of its components, and then
  /// nothing has changed.
  void restore(queue_contents c);
  /// Whether it takes elements beyond its capacity for now.
  void widen(bool on);

 private:
  class ended;

  bool may_put(std::size_t n) const;
  bool may_take(std::size_t n) const;
  bool serve_enqueue(ended& done);
  bool serve_dequeue(ended& done);
  void serve(ended& done);
  failure at_end() const noexcept;
  failure failed(code c, char const* why) const noexcept;
  void close(bool cancel, ended& done);

  std::string name_;
  mutable std::mutex mutex_;
  queue_line line_;
  std::deque<request> enqueues_, dequeues_, closes_;
  bool closed_ = false, wide_ = false;
  bool by_fillers_ = false;  // those that filled it closed it
  std::size_t fillers_ = 0;
  std::uint64_t resets_ = 0;
  failure reason_;
};

#if RILL_RUNTIME

// Requests that have ended, told so when the lock is gone.
class queue_state::ended {
 public:
  explicit ended(std::mutex& m) : lock_(m) {}
  ~ended() {
    lock_.unlock();
    while (auto const r = std::move(first_)) {
      first_ = std::move(r->next);
      r->finished(*r, std::move(r->why));
    }
  }
  // Needs no memory, for the requests of others end here as well.
  void add(request r, failure why = {}) noexcept {
    r->why = std::move(why);
    auto& place = last_ ? last_->next : first_;
    last_ = r.get();
    place = std::move(r);
  }

 private:
  std::unique_lock<std::mutex> lock_;
  request first_;
  queue_request* last_ = nullptr;
};

RILL_INLINE queue_state::queue_state(std::string name, queue_description options)
    : name_(std::move(name)), line_(std::move(options)) {}

RILL_INLINE bool queue_state::may_put(std::size_t n) const {
  return wide_ || line_.size() + n <= static_cast<std::size_t>(options().capacity);
}
RILL_INLINE bool queue_state::may_take(std::size_t n) const {
  auto const stay = closed_ && enqueues_.empty() ? 0 : static_cast<std::size_t>(options().min_after_dequeue);
  return line_.size() >= stay + n;
}

RILL_INLINE bool queue_state::try_enqueue(std::span<queue_element> elements) {
  ended done(mutex_);
  if (closed_ || !enqueues_.empty() || !may_put(elements.size())) return false;
  for (auto& e : elements) line_.put(std::move(e));
  serve(done);
  return true;
}

RILL_INLINE bool queue_state::try_dequeue(std::span<queue_element> into) {
  ended done(mutex_);
  if (!dequeues_.empty() || !may_take(into.size())) return false;
  for (auto& e : into) e = line_.take();
  serve(done);
  return true;
}

RILL_INLINE bool queue_state::serve_enqueue(ended& done) {
  if (enqueues_.empty()) return false;
  auto& r = *enqueues_.front();
  bool moved = false;
  failure why;
  try {
    for (; r.entered < r.elements.size() && may_put(1); moved = true) {
      line_.put(std::move(r.elements[r.entered]));
      ++r.entered;
    }
  } catch (...) {
    why = caught_failure();
  }
  if (!why && r.entered < r.elements.size()) return moved;
  done.add(std::move(enqueues_.front()), why);
  enqueues_.pop_front();
  return true;
}

RILL_INLINE bool queue_state::serve_dequeue(ended& done) {
  if (dequeues_.empty()) return false;
  auto& r = *dequeues_.front();
  bool moved = false;
  failure why;
  try {
    for (; r.elements.size() < r.wanted && may_take(1); moved = true) r.elements.push_back(line_.take());
    bool const end = closed_ && enqueues_.empty() && line_.size() == 0;
    if (end && r.fewer && r.elements.empty()) r.elements = line_.take_rest();
    if (r.elements.size() < r.wanted && !end) return moved;
    if (r.elements.size() < r.wanted && (!r.fewer || r.elements.empty())) {
      line_.put_back(r.elements);
      why = at_end();
    }
  } catch (...) {
    why = caught_failure();
  }
  done.add(std::move(dequeues_.front()), why);
  dequeues_.pop_front();
  return true;
}

RILL_INLINE void queue_state::serve(ended& done) {
  for (bool moved = true; moved;) {
    moved = serve_enqueue(done);
    moved = serve_dequeue(done) || moved;
  }
  if (enqueues_.empty())
    for (; !closes_.empty(); closes_.pop_front()) done.add(std::move(closes_.front()));
}

RILL_INLINE failure queue_state::at_end() const noexcept {
  return reason_ ? reason_ : failed(code::out_of_range, "is closed and has too few elements");
}

// Waiters are told of the end without memory for its words too.
RILL_INLINE failure queue_state::failed(code c, char const* why) const noexcept {
  return rill::failed(c, {"the queue '", name_, "' ", why});
}

RILL_INLINE void queue_state::enqueue(request const& r) {
  ended done(mutex_);
  if (closed_) return done.add(r, failed(code::cancelled, "is closed"));
  enqueues_.push_back(r);
  serve(done);
}

RILL_INLINE void queue_state::dequeue(request const& r) {
  r->elements.reserve(r->wanted);  // those that are taken out can be kept
  ended done(mutex_);
  dequeues_.push_back(r);
  serve(done);
}

RILL_INLINE void queue_state::close(bool cancel, ended& done) {
  closed_ = true;
  if (cancel)
    for (; !enqueues_.empty(); enqueues_.pop_front())
      done.add(std::move(enqueues_.front()), failed(code::cancelled, "was closed"));
  serve(done);
}

RILL_INLINE void queue_state::close(request const& r, bool cancel) {
  ended done(mutex_);
  by_fillers_ = false;
  closes_.push_back(r);
  close(cancel, done);
}

RILL_INLINE void queue_state::close(bool cancel) {
  ended done(mutex_);
  by_fillers_ = false;
  close(cancel, done);
}

RILL_INLINE std::uint64_t queue_state::begin_filling(std::size_t threads) {
  std::lock_guard lock(mutex_);
  if (closed_ && !by_fillers_)
    throw error(code::failed_precondition, "the queue '" + name_ + "' is closed: nothing can be put into it");
  if (closed_) closed_ = false, reason_ = {};
  fillers_ += threads;
  return resets_;
}

RILL_INLINE void queue_state::end_filling(std::uint64_t since, failure why, bool now) {
  ended done(mutex_);
  if (since != resets_) return;
  if (!reason_) reason_ = std::move(why);
  if (--fillers_ > 0 && !now) return;
  by_fillers_ = by_fillers_ || !closed_;
  close(now, done);
}

RILL_INLINE void queue_state::give_up(queue_request const& wanted, failure why) {
  ended done(mutex_);
  for (auto* list : {&enqueues_, &dequeues_, &closes_})
    for (auto at = list->begin(); at != list->end(); ++at) {
      if (at->get() != &wanted) continue;
      if (list == &dequeues_) try {
          line_.put_back((*at)->elements);
        } catch (...) {
          why = caught_failure();
        }
      done.add(std::move(*at), std::move(why));
      list->erase(at);
      return serve(done);
    }
}

RILL_INLINE std::int64_t queue_state::size() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(line_.size());
}

RILL_INLINE bool queue_state::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

RILL_INLINE std::size_t queue_state::waiting() const {
  std::lock_guard lock(mutex_);
  return enqueues_.size() + dequeues_.size() + closes_.size();
}

RILL_INLINE void queue_state::reset() {
  ended done(mutex_);
  auto const why = failed(code::aborted, "is of a container that was reset");
  for (auto* list : {&enqueues_, &dequeues_, &closes_})
    for (; !list->empty(); list->pop_front()) done.add(std::move(list->front()), why);
  line_.clear();
  closed_ = false;
  fillers_ = 0;
  ++resets_;
  reason_ = {};
}

// Those who wait take the same again: what is drawn depends on the count of draws and on the line alone.
RILL_INLINE queue_contents queue_state::contents() {
  ended done(mutex_);
  for (auto r = dequeues_.rbegin(); r != dequeues_.rend(); ++r) line_.put_back((*r)->elements);
  auto c = line_.contents();
  serve(done);
  return c;
}

RILL_INLINE void queue_state::restore(queue_contents c) {
  for (auto const& parts : c.elements) {
    expects(parts.size() == options().components.size(), "an element has another number of components than its queue");
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!accepts(options().components[i], parts[i].type()))
        throw error(code::invalid_argument, "component " + std::to_string(i) + " of the queue '" + name_ + "' is a " +
                                                options().components[i].text() + ", not a " + parts[i].type().text());
  }
  ended done(mutex_);
  for (auto const& r : dequeues_) r->elements.clear();  // they were of those before
  line_.restore(std::move(c));
  serve(done);
}

RILL_INLINE void queue_state::widen(bool on) {
  ended done(mutex_);
  wide_ = on;
  serve(done);
}

#endif

}  // namespace rill
