// The elements of a queue, in the order in which they are dequeued.
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

/// The order in which a queue returns its elements.
enum class queue_order : std::uint8_t {
  fifo,      ///< in the order of arrival
  shuffled,  ///< at random; the same for the same seed and the same calls
  priority,  ///< by ascending first component, an int64 scalar; equal ones in the order of arrival
  windowed,  ///< at random among the min_after_dequeue + 1 oldest; depends on the seed and on the order of arrival, but
             ///< not on the times of arrival
  bucketed,  ///< in groups of `together` elements with the same first component, an int64 scalar; groups in the order
             ///< of their completion
};

/// The properties of a queue. All users of a queue must state the same properties.
struct queue_description {
  queue_order order = queue_order::fifo;
  std::int64_t capacity = 0;           ///< in elements; at least 1
  std::int64_t min_after_dequeue = 0;  ///< shuffled queues: the elements that stay until the queue is closed
  std::int64_t seed = 0;               ///< shuffled queues: the seed of the draws
  bool padded = false;                 ///< whether elements of different extents are padded with zeros to be stacked
  std::vector<type> components = {};   ///< the types of an element's components
  std::int64_t together = 0;           ///< bucketed queues: the number of elements in a group
  friend bool operator==(queue_description const&, queue_description const&) = default;

  /// Throws error(invalid_argument) for contradictory properties.
  void check() const;
  /// Returns the properties as text: "a shuffled queue for 100 elements of (float32[2], int32), min_after_dequeue 10,
  /// seed 3".
  std::string text() const;
  bool draws() const { return order == queue_order::shuffled || order == queue_order::windowed; }
};

/// An element of a queue: a tensor for each component.
struct queue_element {
  std::vector<tensor> parts;
  std::uint64_t place = 0;  ///< its position in the queue, to put it back
};

/// The state of a queue in a checkpoint.
struct queue_contents {
  std::vector<std::vector<tensor>> elements = {};  ///< in the queue's order, a tensor for each component
  std::uint64_t draws = 0;                         ///< shuffled queues: the number of draws
};

/// The elements of a queue, in the order in which they are dequeued. Not thread-safe.
class queue_line {
 public:
  explicit queue_line(queue_description options) : options_(std::move(options)) { options_.check(); }

  queue_description const& options() const { return options_; }
  /// Returns the number of elements that can be taken: incomplete groups don't count.
  std::size_t size() const { return options_.order == queue_order::priority ? sorted_.size() : line_.size(); }

  void put(queue_element e);
  /// Removes and returns the next element; there must be one.
  queue_element take();
  /// Removes and returns an incomplete group; empty if there is none.
  std::vector<queue_element> take_rest();
  /// Puts the last taken elements back in their places and empties `taken`.
  void put_back(std::vector<queue_element>& taken);

  queue_contents contents() const;
  /// Replaces the elements.
  void restore(queue_contents c);
  /// Returns to the initial state.
  void clear();

 private:
  void gather(queue_element e);

  queue_description options_;
  std::deque<queue_element> line_;
  std::map<std::pair<std::int64_t, std::uint64_t>, queue_element> sorted_;  // by priority and time
  std::map<std::int64_t, std::vector<queue_element>> gathering_;            // incomplete groups, by first component
  std::uint64_t arrivals_ = 0, draws_ = 0;
};

#if RILL_RUNTIME

RILL_INLINE void queue_description::check() const {
  if (capacity < 1)
    throw error(code::invalid_argument, "a queue's capacity must be at least 1, not " + std::to_string(capacity));
  expects(!components.empty(), "a queue needs at least one component");
  if (order > queue_order::bucketed)
    throw error(code::invalid_argument, "unknown queue order " + std::to_string(static_cast<int>(order)) +
                                            " (0 fifo, 1 shuffled, 2 priority, 3 windowed, 4 bucketed)");
  expects(draws() || min_after_dequeue == 0, "only a shuffled queue has a min_after_dequeue: set it to 0");
  if (min_after_dequeue < 0 || min_after_dequeue >= capacity)
    throw error(code::invalid_argument, "min_after_dequeue must be less than the capacity, " +
                                            std::to_string(capacity) + ", and not negative, but is " +
                                            std::to_string(min_after_dequeue));
  expects(order != queue_order::priority || components[0] == type(dtype::int64),
          "the first component of a priority queue must be an int64 scalar");
  bool const buckets = order == queue_order::bucketed;
  expects(!buckets || components[0] == type(dtype::int64),
          "the first component of a bucket queue must be an int64 scalar");
  expects(buckets ? together > 0 : together == 0,
          "a bucket queue needs together >= 1, and every other queue together = 0");
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

// A shuffled queue draws a position and fills the gap with its last element, a windowed queue with its first;
// `put_back` reverses that.
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
