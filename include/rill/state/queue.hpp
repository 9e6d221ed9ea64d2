// Queues of tensors that steps and threads share. A caller that has to wait leaves a request and is notified when it is
// done; no thread is blocked (white paper §4.6).
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

/// A request to enqueue, dequeue or close.
struct queue_request {
  std::vector<queue_element> elements = {};  ///< the elements to enqueue, or those dequeued so far
  std::size_t entered = 0;                   ///< the number of elements enqueued so far
  std::size_t wanted = 0;                    ///< the number of elements to dequeue
  bool fewer = false;                        ///< whether fewer suffice at the end of a closed queue
  /// Called once, on any thread, without the queue's lock; the failure is null for success. Must not throw.
  std::function<void(queue_request&, failure)> finished = {};
  std::shared_ptr<queue_request> next = {};  ///< used by the queue: the next request to finish
  failure why = {};                          ///< used by the queue: the failure to finish with
};

/// A queue, whose elements wait for requests and whose requests wait for elements or room, first come first served.
class queue_state {
 public:
  queue_state(std::string name, queue_description options);

  std::string const& name() const { return name_; }
  queue_description const& options() const { return line_.options(); }

  /// Enqueues all elements, or fills `into`, and returns true if that is possible at once and no other request is
  /// waiting. Otherwise changes nothing and returns false: the caller has to leave a request.
  bool try_enqueue(std::span<queue_element> elements);
  bool try_dequeue(std::span<queue_element> into);

  using request = std::shared_ptr<queue_request>;
  /// Enqueues the request's elements as room becomes available; fails with error(cancelled) once the queue is closed.
  void enqueue(request const& r);
  /// Dequeues the number of elements that the request wants, as they arrive. If the queue is closed and has fewer, puts
  /// them back and fails with the reason given to `end_filling`, or with error(out_of_range).
  void dequeue(request const& r);
  /// Closes the queue to new elements. Enqueues that wait still complete, or fail with error(cancelled) if `cancel`;
  /// the request ends when no enqueue is waiting. A closed queue may be closed again.
  void close(request const& r, bool cancel = false);
  /// The same without waiting.
  void close(bool cancel = false);
  /// Registers `threads` threads that fill the queue, and returns the number to pass to `end_filling`. Reopens a queue
  /// that was closed because its filling threads had ended; throws error(failed_precondition) if it was closed in
  /// another way.
  std::uint64_t begin_filling(std::size_t threads);
  /// Unregisters a thread registered at `since`; the last one closes the queue. If `why` is set, dequeues fail with it
  /// at the end instead of error(out_of_range). If `now`, the queue is closed at once, and enqueues that wait fail.
  /// Does nothing if the queue was reset since.
  void end_filling(std::uint64_t since, failure why = {}, bool now = false);
  /// Ends a request that still waits with the failure `why`; no element is lost.
  void give_up(queue_request const& r, failure why);

  /// Returns the number of elements that can be dequeued: incomplete buckets don't count.
  std::int64_t size() const;
  bool closed() const;
  /// "the queue 'q', which has 0 elements".
  std::string as_text() const {
    auto const n = size();
    return "the queue '" + name_ + "', which has " + std::to_string(n) + (n == 1 ? " element" : " elements");
  }
  /// Returns the number of waiting requests.
  std::size_t waiting() const;
  /// Removes all elements and returns to the initial state; waiting requests fail with error(aborted).
  void reset();

  /// Returns all elements, including the ones that waiting dequeues have taken so far.
  queue_contents contents();
  /// Replaces the elements; throws error(invalid_argument), and changes nothing, if one doesn't match the queue's
  /// components.
  void restore(queue_contents c);
  /// Sets whether the queue takes elements beyond its capacity.
  void widen(bool on);

 private:
  class completions;

  bool may_put(std::size_t n) const;
  bool may_take(std::size_t n) const;
  bool serve_enqueue(completions& done);
  bool serve_dequeue(completions& done);
  void serve(completions& done);
  failure at_end() const noexcept;
  failure failed(code c, char const* why) const noexcept;
  void close(bool cancel, completions& done);

  std::string name_;
  mutable std::mutex mutex_;
  queue_line line_;
  std::deque<request> enqueues_, dequeues_, closes_;
  bool closed_ = false, wide_ = false;
  bool by_fillers_ = false;  // whether it was closed because its filling threads had ended
  std::size_t fillers_ = 0;
  std::uint64_t resets_ = 0;
  failure reason_;
};

#if RILL_RUNTIME

// Requests that have finished; their callbacks are called after the lock is released.
class queue_state::completions {
 public:
  explicit completions(std::mutex& m) : lock_(m) {}
  ~completions() {
    lock_.unlock();
    while (auto const r = std::move(first_)) {
      first_ = std::move(r->next);
      r->finished(*r, std::move(r->why));
    }
  }
  // Allocates nothing: requests of other callers finish here, too.
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
  completions done(mutex_);
  if (closed_ || !enqueues_.empty() || !may_put(elements.size())) return false;
  for (auto& e : elements) line_.put(std::move(e));
  serve(done);
  return true;
}

RILL_INLINE bool queue_state::try_dequeue(std::span<queue_element> into) {
  completions done(mutex_);
  if (!dequeues_.empty() || !may_take(into.size())) return false;
  for (auto& e : into) e = line_.take();
  serve(done);
  return true;
}

RILL_INLINE bool queue_state::serve_enqueue(completions& done) {
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

RILL_INLINE bool queue_state::serve_dequeue(completions& done) {
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

RILL_INLINE void queue_state::serve(completions& done) {
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

// Allocates nothing if memory has run out, so that waiting requests still end.
RILL_INLINE failure queue_state::failed(code c, char const* why) const noexcept {
  return rill::failed(c, {"the queue '", name_, "' ", why});
}

RILL_INLINE void queue_state::enqueue(request const& r) {
  completions done(mutex_);
  if (closed_) return done.add(r, failed(code::cancelled, "is closed"));
  enqueues_.push_back(r);
  serve(done);
}

RILL_INLINE void queue_state::dequeue(request const& r) {
  r->elements.reserve(r->wanted);  // so that storing the dequeued elements can't fail
  completions done(mutex_);
  dequeues_.push_back(r);
  serve(done);
}

RILL_INLINE void queue_state::close(bool cancel, completions& done) {
  closed_ = true;
  if (cancel)
    for (; !enqueues_.empty(); enqueues_.pop_front())
      done.add(std::move(enqueues_.front()), failed(code::cancelled, "was closed"));
  serve(done);
}

RILL_INLINE void queue_state::close(request const& r, bool cancel) {
  completions done(mutex_);
  by_fillers_ = false;
  closes_.push_back(r);
  close(cancel, done);
}

RILL_INLINE void queue_state::close(bool cancel) {
  completions done(mutex_);
  by_fillers_ = false;
  close(cancel, done);
}

RILL_INLINE std::uint64_t queue_state::begin_filling(std::size_t threads) {
  std::lock_guard lock(mutex_);
  if (closed_ && !by_fillers_)
    throw error(code::failed_precondition, "the queue '" + name_ + "' is closed: no thread can fill it");
  if (closed_) closed_ = false, reason_ = {};
  fillers_ += threads;
  return resets_;
}

RILL_INLINE void queue_state::end_filling(std::uint64_t since, failure why, bool now) {
  completions done(mutex_);
  if (since != resets_) return;
  if (!reason_) reason_ = std::move(why);
  if (--fillers_ > 0 && !now) return;
  by_fillers_ = by_fillers_ || !closed_;
  close(now, done);
}

RILL_INLINE void queue_state::give_up(queue_request const& wanted, failure why) {
  completions done(mutex_);
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
  completions done(mutex_);
  auto const why = failed(code::aborted, "was reset with its container");
  for (auto* list : {&enqueues_, &dequeues_, &closes_})
    for (; !list->empty(); list->pop_front()) done.add(std::move(list->front()), why);
  line_.clear();
  closed_ = false;
  fillers_ = 0;
  ++resets_;
  reason_ = {};
}

// Waiting dequeues get the same elements again, because draws depend only on their count and on the order of the
// elements.
RILL_INLINE queue_contents queue_state::contents() {
  completions done(mutex_);
  for (auto r = dequeues_.rbegin(); r != dequeues_.rend(); ++r) line_.put_back((*r)->elements);
  auto c = line_.contents();
  serve(done);
  return c;
}

RILL_INLINE void queue_state::restore(queue_contents c) {
  for (auto const& parts : c.elements) {
    if (parts.size() != options().components.size())
      throw error(code::invalid_argument, "an element of the queue '" + name_ + "' has " +
                                              std::to_string(options().components.size()) + " components, not " +
                                              std::to_string(parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!accepts(options().components[i], parts[i].type()))
        throw error(code::invalid_argument, "component " + std::to_string(i) + " of the queue '" + name_ +
                                                "' has type " + options().components[i].text() + ", not " +
                                                parts[i].type().text());
  }
  completions done(mutex_);
  for (auto const& r : dequeues_) r->elements.clear();  // they belong to the old contents
  line_.restore(std::move(c));
  serve(done);
}

RILL_INLINE void queue_state::widen(bool on) {
  completions done(mutex_);
  wide_ = on;
  serve(done);
}

#endif

}  // namespace rill
