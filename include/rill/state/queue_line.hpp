// What a queue stores, in the order in which it hands it out.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
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
  bucketed,  ///< as many `together` as have the same first component, a scalar of int64: those first of which there
             ///< were enough first
};

/// What a queue is made from; those who name the same queue must agree on it.
struct queue_description {
  queue_order order = queue_order::fifo;
  std::int64_t capacity = 0;           ///< in elements; at least 1
  std::int64_t min_after_dequeue = 0;  ///< of shuffled queues: so many stay to draw from, until the queue is closed
  std::int64_t seed = 0;               ///< of shuffled queues
  bool padded = false;                 ///< elements of different extents are filled up with zeros to be stacked
  std::vector<type> components = {};   ///< of an element
  std::int64_t together = 0;           ///< of bucketed queues: so many of a bucket leave one behind the other
  friend bool operator==(queue_description const&, queue_description const&) = default;

  /// error(invalid_argument) if they make no sense.
  void check() const;
  /// What they say: "a shuffled queue for 100 elements of (float32[2], int32), min_after_dequeue 10, seed 3".
  std::string text() const;
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

/// Elements in the order in which a queue hands them out. One thread at a time uses it.
class queue_line {
 public:
  explicit queue_line(queue_description options) : options_(std::move(options)) { options_.check(); }

  queue_description const& options() const { return options_; }
  /// How many can be taken: elements of a bucket count when there are enough of them.
  std::size_t size() const { return options_.order == queue_order::priority ? sorted_.size() : line_.size(); }

  void put(queue_element e);
  /// The next one, of which there must be one.
  queue_element take();
  /// What is left of a bucket of which there are not enough, or nothing if there is no such bucket.
  std::vector<queue_element> take_rest();
  /// Puts what was taken last in its place again, and empties the list.
  void put_back(std::vector<queue_element>& taken);

  queue_contents contents() const;
  /// Puts these in the place of its elements.
  void restore(queue_contents c);
  /// It is as new.
  void clear();

 private:
  void gather(queue_element e);

  queue_description options_;
  std::deque<queue_element> line_;
  std::map<std::pair<std::int64_t, std::uint64_t>, queue_element> sorted_;  // by priority and time
  std::map<std::int64_t, std::vector<queue_element>> gathering_;            // by bucket: not enough yet
  std::uint64_t arrivals_ = 0, draws_ = 0;
};

#if RILL_RUNTIME

RILL_INLINE void queue_description::check() const {
  expects(capacity >= 1, "a queue's capacity must be at least 1");
  expects(!components.empty(), "a queue needs at least one component");
  expects(order <= queue_order::bucketed, "a queue's order is none that is known");
  expects(draws() || min_after_dequeue == 0, "only a shuffled queue has a min_after_dequeue");
  expects(min_after_dequeue >= 0 && min_after_dequeue < capacity, "min_after_dequeue must be less than the capacity");
  expects(order != queue_order::priority || components[0] == type(dtype::int64),
          "the first component of a priority queue must be a scalar of int64");
  bool const buckets = order == queue_order::bucketed;
  expects(!buckets || components[0] == type(dtype::int64),
          "the first component of a bucket queue must be a scalar of int64");
  expects(buckets ? together > 0 : together == 0,
          "of a bucket queue, and of no other, several elements leave together");
  for (auto const& c : components)
    expects(!padded || c.has_rank(), "a padding or bucket queue stacks elements, so each component needs a known rank");
}

RILL_INLINE std::string queue_description::text() const {
  constexpr char const* orders[] = {"fifo", "shuffled", "priority", "windowed", "bucketed"};
  auto s = std::string("a ") + (padded ? "padding " : "") + orders[static_cast<std::size_t>(order)] + " queue for " +
           std::to_string(capacity) + " elements of " + text_of(components);
  if (draws()) s += ", min_after_dequeue " + std::to_string(min_after_dequeue) + ", seed " + std::to_string(seed);
  if (order == queue_order::bucketed) s += ", " + std::to_string(together) + " together";
  return s;
}

RILL_INLINE void queue_line::put(queue_element e) {
  e.place = arrivals_++;
  if (options_.order == queue_order::priority)
    sorted_.emplace(std::pair(e.parts[0].item<std::int64_t>(), e.place), std::move(e));
  else if (options_.order == queue_order::bucketed) gather(std::move(e));
  else line_.push_back(std::move(e));
}

RILL_INLINE void queue_line::gather(queue_element e) {
  auto const at = gathering_.try_emplace(e.parts[0].item<std::int64_t>()).first;
  at->second.push_back(std::move(e));
  if (at->second.size() < static_cast<std::size_t>(options_.together)) return;
  std::move(at->second.begin(), at->second.end(), std::back_inserter(line_));
  gathering_.erase(at);
}

RILL_INLINE std::vector<queue_element> queue_line::take_rest() {
  return gathering_.empty() ? std::vector<queue_element>() : std::move(gathering_.extract(gathering_.begin()).mapped());
}

// A shuffled queue draws a place and closes the gap with its last element, a windowed one with its first;
// `put_back` does the same backwards.
RILL_INLINE queue_element queue_line::take() {
  queue_element e;
  if (options_.order == queue_order::priority) return std::move(sorted_.extract(sorted_.begin()).mapped());
  if (!options_.draws()) {
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

RILL_INLINE void queue_line::put_back(std::vector<queue_element>& taken) {
  for (; !taken.empty(); taken.pop_back()) {
    auto& e = taken.back();
    if (options_.order == queue_order::priority)
      sorted_.emplace(std::pair(e.parts[0].item<std::int64_t>(), e.place), std::move(e));
    else if (!options_.draws()) line_.push_front(std::move(e));
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

RILL_INLINE queue_contents queue_line::contents() const {
  queue_contents c{{}, draws_};
  for (auto const& e : line_) c.elements.push_back(e.parts);
  for (auto const& [_, e] : sorted_) c.elements.push_back(e.parts);
  for (auto const& [_, bucket] : gathering_)
    for (auto const& e : bucket) c.elements.push_back(e.parts);
  return c;
}

RILL_INLINE void queue_line::restore(queue_contents c) {
  line_.clear();
  sorted_.clear();
  gathering_.clear();
  for (auto& parts : c.elements) put({std::move(parts)});
  draws_ = c.draws;
}

RILL_INLINE void queue_line::clear() {
  restore({});
  arrivals_ = 0;
}

#endif

}  // namespace rill
