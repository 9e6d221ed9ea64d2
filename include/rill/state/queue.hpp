// A queue of tensors that steps and threads share. Whoever must wait leaves a request and is told when it is done: no
// thread is held meanwhile (white paper §4.6).
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/philox.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// In which order a queue hands its elements out.
enum class queue_order : std::uint8_t {
  fifo,      ///< as they came
  shuffled,  ///< at random, the same for the same seed and the same calls
  priority,  ///< the smallest first component, a scalar of int64, first; equal ones as they came
  windowed,  ///< at random among the oldest, min_after_dequeue + 1 of them: the order depends on the seed and on the
             ///< order in which they came, and not on when
};

/// What a queue is made from; those who name the same queue must agree on it.
struct queue_options {
  queue_order order = queue_order::fifo;
  std::int64_t capacity = 0;           ///< in elements; at least 1
  std::int64_t min_after_dequeue = 0;  ///< of shuffled queues: so many stay to draw from, until the queue is closed
  std::int64_t seed = 0;               ///< of shuffled queues
  bool padded = false;                 ///< elements of different extents are filled up with zeros to be stacked
  std::vector<type> components = {};   ///< of an element
  friend bool operator==(queue_options const&, queue_options const&) = default;

  /// error(invalid_argument) if they make no sense.
  void check() const;
  bool draws() const { return order == queue_order::shuffled || order == queue_order::windowed; }
};

/// An element of a queue: a tensor for each component.
struct queue_element {
  std::vector<tensor> parts;
  std::uint64_t place = 0;  ///< where it belongs, should it be put back
};

/// What a checkpoint keeps of a queue.
struct queue_contents {
  std::vector<std::vector<tensor>> elements = {};  ///< in the order of the line, a tensor for each component
  std::uint64_t draws = 0;                         ///< of shuffled queues: how often one was drawn
};

/// An enqueue, dequeue or close from the time that it asks until it is told the end.
struct queue_request {
  std::vector<queue_element> elements = {};  ///< to enqueue; or dequeued so far
  std::size_t entered = 0;                   ///< how many of those to enqueue are in
  std::size_t wanted = 0;                    ///< to dequeue
  bool fewer = false;                        ///< at the end of a closed queue fewer will do
  /// Called once, by any thread, without the queue's lock; null for success. It must not throw.
  std::function<void(queue_request&, failure)> finished = {};
};

/// Elements wait in it for those who ask, and those who ask for elements. First come, first served.
class queue_state {
 public:
  queue_state(std::string name, queue_options options);

  std::string const& name() const { return name_; }
  queue_options const& options() const { return options_; }

  using request = std::shared_ptr<queue_request>;
  /// Puts the request's elements in, as room comes. error(cancelled) once the queue is closed.
  void enqueue(request const& r);
  /// Takes as many as are wanted, as they come. What is taken is put back in its place if it never gets them all:
  /// error(out_of_range), or what the queue was closed for, when it is closed and empty.
  void dequeue(request const& r);
  /// Takes no new elements. Those who wait with elements get them in, or fail with error(cancelled) if `cancel`; the
  /// close is done when nobody waits with elements. A queue that is closed may be closed again.
  void close(request const& r, bool cancel = false);
  /// The same for those who don't wait; `why` is what dequeues fail with at the end, instead of error(out_of_range).
  void close(bool cancel = false, failure why = {});
  /// A request that still waits ends with `why`, and has lost nothing.
  void give_up(queue_request const& r, failure why);

  /// Elements in the queue now.
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

  // Elements in the order in which they are handed out.
  std::size_t count() const { return options_.order == queue_order::priority ? sorted_.size() : line_.size(); }
  void put(queue_element e);
  queue_element take();
  void put_back(std::vector<queue_element>& taken);
  bool may_take() const;

  bool serve_enqueue(ended& done);
  bool serve_dequeue(ended& done);
  void serve(ended& done);
  failure at_end() const;

  std::string name_;
  queue_options options_;
  mutable std::mutex mutex_;
  std::deque<queue_element> line_;
  std::map<std::pair<std::int64_t, std::uint64_t>, queue_element> sorted_;  // by priority and time
  std::uint64_t arrivals_ = 0, draws_ = 0;
  std::deque<request> enqueues_, dequeues_, closes_;
  bool closed_ = false, wide_ = false;
  failure reason_;
};

#if RILL_RUNTIME

RILL_INLINE void queue_options::check() const {
  expects(capacity >= 1, "a queue's capacity must be at least 1");
  expects(!components.empty(), "a queue needs at least one component");
  expects(order <= queue_order::windowed, "a queue's order is none that is known");
  expects(draws() || min_after_dequeue == 0, "only a shuffled queue has a min_after_dequeue");
  expects(min_after_dequeue >= 0 && min_after_dequeue < capacity, "min_after_dequeue must be less than the capacity");
  expects(order != queue_order::priority || components[0] == type(dtype::int64),
          "the first component of a priority queue must be a scalar of int64");
}

// Requests that have ended, told so when the lock is gone.
class queue_state::ended {
 public:
  explicit ended(std::mutex& m) : lock_(m) {}
  ~ended() {
    lock_.unlock();
    for (auto& [r, why] : requests_) r->finished(*r, why);
  }
  void add(request r, failure why = {}) { requests_.emplace_back(std::move(r), std::move(why)); }

 private:
  std::unique_lock<std::mutex> lock_;
  std::vector<std::pair<request, failure>> requests_;
};

RILL_INLINE queue_state::queue_state(std::string name, queue_options options)
    : name_(std::move(name)), options_(std::move(options)) {
  options_.check();
}

RILL_INLINE void queue_state::put(queue_element e) {
  e.place = arrivals_++;
  if (options_.order == queue_order::priority)
    sorted_.emplace(std::pair(e.parts[0].item<std::int64_t>(), e.place), std::move(e));
  else line_.push_back(std::move(e));
}

// A shuffled queue draws a place and closes the gap with its last element, a windowed one with its first;
// `put_back` does the same backwards.
RILL_INLINE queue_element queue_state::take() {
  queue_element e;
  if (options_.order == queue_order::priority) return std::move(sorted_.extract(sorted_.begin()).mapped());
  if (options_.order == queue_order::fifo) {
    e = std::move(line_.front());
    line_.pop_front();
    return e;
  }
  auto const words =
      random_stream{random_stream::key_of(static_cast<std::uint64_t>(options_.seed), 0), draws_++}.block(0);
  bool const windowed = options_.order == queue_order::windowed;
  auto const among =
      windowed ? std::min(line_.size(), static_cast<std::size_t>(options_.min_after_dequeue) + 1) : line_.size();
  auto const at = static_cast<std::size_t>((std::uint64_t{words[0]} << 32 | words[1]) % among);
  std::swap(line_[at], windowed ? line_.front() : line_.back());
  if (windowed) {
    e = std::move(line_.front());
    line_.pop_front();
  } else {
    e = std::move(line_.back());
    line_.pop_back();
  }
  e.place = at;
  return e;
}

RILL_INLINE void queue_state::put_back(std::vector<queue_element>& taken) {
  for (; !taken.empty(); taken.pop_back()) {
    auto& e = taken.back();
    if (options_.order == queue_order::priority)
      sorted_.emplace(std::pair(e.parts[0].item<std::int64_t>(), e.place), std::move(e));
    else if (options_.order == queue_order::fifo) line_.push_front(std::move(e));
    else {
      --draws_;
      auto const at = static_cast<std::size_t>(e.place);
      if (options_.order == queue_order::windowed) {
        line_.push_front(std::move(e));
        std::swap(line_.front(), line_[at]);
      } else {
        line_.push_back(std::move(e));
        std::swap(line_.back(), line_[at]);
      }
    }
  }
}

RILL_INLINE bool queue_state::may_take() const {
  auto const stay = closed_ && enqueues_.empty() ? 0 : static_cast<std::size_t>(options_.min_after_dequeue);
  return count() > stay;
}

RILL_INLINE bool queue_state::serve_enqueue(ended& done) {
  if (enqueues_.empty()) return false;
  auto& r = *enqueues_.front();
  bool moved = false;
  for (; r.entered < r.elements.size() && (wide_ || count() < static_cast<std::size_t>(options_.capacity));
       moved = true)
    put(std::move(r.elements[r.entered++]));
  if (r.entered < r.elements.size()) return moved;
  done.add(std::move(enqueues_.front()));
  enqueues_.pop_front();
  return true;
}

RILL_INLINE bool queue_state::serve_dequeue(ended& done) {
  if (dequeues_.empty()) return false;
  auto& r = *dequeues_.front();
  bool moved = false;
  for (; r.elements.size() < r.wanted && may_take(); moved = true) r.elements.push_back(take());
  bool const end = closed_ && enqueues_.empty() && count() == 0;
  if (r.elements.size() < r.wanted && !end) return moved;
  failure why;
  if (r.elements.size() < r.wanted && (!r.fewer || r.elements.empty())) {
    put_back(r.elements);
    why = at_end();
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

RILL_INLINE failure queue_state::at_end() const {
  if (reason_) return reason_;
  return failed(code::out_of_range, "the queue '" + name_ + "' is closed and has too few elements");
}

RILL_INLINE void queue_state::enqueue(request const& r) {
  ended done(mutex_);
  if (closed_) return done.add(r, failed(code::cancelled, "the queue '" + name_ + "' is closed"));
  enqueues_.push_back(r);
  serve(done);
}

RILL_INLINE void queue_state::dequeue(request const& r) {
  ended done(mutex_);
  dequeues_.push_back(r);
  serve(done);
}

RILL_INLINE void queue_state::close(request const& r, bool cancel) {
  ended done(mutex_);
  closed_ = true;
  if (cancel)
    for (; !enqueues_.empty(); enqueues_.pop_front())
      done.add(std::move(enqueues_.front()), failed(code::cancelled, "the queue '" + name_ + "' was closed"));
  closes_.push_back(r);
  serve(done);
}

RILL_INLINE void queue_state::close(bool cancel, failure why) {
  {
    std::lock_guard lock(mutex_);
    if (!reason_) reason_ = std::move(why);
  }
  auto const r = std::make_shared<queue_request>();
  r->finished = [](queue_request&, failure const&) {};
  close(r, cancel);
}

RILL_INLINE void queue_state::give_up(queue_request const& wanted, failure why) {
  ended done(mutex_);
  for (auto* list : {&enqueues_, &dequeues_, &closes_})
    for (auto at = list->begin(); at != list->end(); ++at) {
      if (at->get() != &wanted) continue;
      if (list == &dequeues_) put_back((*at)->elements);
      done.add(std::move(*at), std::move(why));
      list->erase(at);
      return serve(done);
    }
}

RILL_INLINE std::int64_t queue_state::size() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(count());
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
  auto const why = failed(code::aborted, "the container of queue '" + name_ + "' was reset");
  for (auto* list : {&enqueues_, &dequeues_, &closes_})
    for (; !list->empty(); list->pop_front()) done.add(std::move(list->front()), why);
  line_.clear();
  sorted_.clear();
  arrivals_ = draws_ = 0;
  closed_ = false;
  reason_ = {};
}

// Those who wait take the same again: what is drawn depends on the count of draws and on the line alone.
RILL_INLINE queue_contents queue_state::contents() {
  ended done(mutex_);
  for (auto r = dequeues_.rbegin(); r != dequeues_.rend(); ++r) put_back((*r)->elements);
  queue_contents c{{}, draws_};
  for (auto const& e : line_) c.elements.push_back(e.parts);
  for (auto const& [_, e] : sorted_) c.elements.push_back(e.parts);
  serve(done);
  return c;
}

RILL_INLINE void queue_state::restore(queue_contents c) {
  for (auto const& parts : c.elements) {
    expects(parts.size() == options_.components.size(), "an element has another number of components than its queue");
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!accepts(options_.components[i], parts[i].type()))
        throw error(code::invalid_argument, "component " + std::to_string(i) + " of the queue '" + name_ + "' is a " +
                                                options_.components[i].text() + ", not a " + parts[i].type().text());
  }
  ended done(mutex_);
  line_.clear();
  sorted_.clear();
  for (auto& parts : c.elements) put({std::move(parts)});
  draws_ = c.draws;
  serve(done);
}

RILL_INLINE void queue_state::widen(bool on) {
  ended done(mutex_);
  wide_ = on;
  serve(done);
}

#endif

}  // namespace rill
