// Queues: tensors that wait between steps (white paper §4.6).
#pragma once
#include "rill/ops/queues/queue_ops.hpp"

namespace rill {

/// Options of a queue.
struct queue_options {
  std::int64_t capacity = 1000;        ///< in elements
  std::int64_t min_after_dequeue = 0;  ///< of shuffled queues: elements that stay until the queue is closed
  std::int64_t seed = 0;               ///< of shuffled queues
  std::int64_t together = 0;           ///< of bucket queues: the number of elements dequeued at once
};

/// A handle of a queue whose elements have these components; its functions record operations. The queue is in the
/// session's container under its name (a unique one if none is given): graphs and sessions that share the container
/// share the queue. An operation that waits holds no thread.
template <type... Components> class queue {
 public:
  static_assert(sizeof...(Components) > 0, "a queue needs at least one component");

  queue(graph& g, queue_order order, queue_options const& s, std::string name, bool padded) try
      : graph_(&g),
        about_{name.empty() ? g.fresh_name("queue") : std::move(name),
               order,
               s.capacity,
               s.min_after_dequeue,
               s.seed,
               padded,
               {Components...},
               s.together} {
    about_.options();
  } catch (...) {
    rethrow_as_error();
  }

  /// Adds one element; waits while the queue is full. Fails with error(cancelled) if the queue is closed.
  template <operand... X> operation enqueue(X... x) const try {
    static_assert(sizeof...(X) == sizeof...(Components),
                  "enqueue: the number of values is not the queue's number of components");
    (check<X, Components>(), ...);
    return enqueue_by(0, {x...});
  } catch (...) {
    rethrow_as_error();
  }
  /// Returns the same for any handles; `threads` threads run it after `start_input`.
  operation enqueue_by(std::int64_t threads, std::vector<value> const& x) const try {
    ops::enqueue_op::attributes a{about_};
    a.threads = threads;
    return add<ops::enqueue_op>(a, x);
  } catch (...) {
    rethrow_as_error();
  }
  /// Adds each row as an element.
  template <operand... X> operation enqueue_many(X... x) const try {
    static_assert(sizeof...(X) == sizeof...(Components),
                  "enqueue_many: the number of values is not the queue's number of components");
    (check_rows<X, Components>(), ...);
    return add<ops::enqueue_many_op>(about_, {x...});
  } catch (...) {
    rethrow_as_error();
  }
  /// Removes and returns one element; waits for it. Fails with error(out_of_range) if the queue is closed and empty.
  auto dequeue() const { return taken<Components...>(add<ops::dequeue_op>(about_, {})); }
  /// Removes and returns N elements, stacked; waits for all of them. Removes none, and fails with error(out_of_range),
  /// if the queue is closed with fewer. A padding queue pads them with zeros to the largest extents.
  template <std::int64_t N> auto dequeue_many() const {
    static_assert(N >= 0, "dequeue_many: the number of elements is negative");
    return taken<stacked(Components, dim(N))...>(many(N, false));
  }
  /// Returns the same, but at the end of a closed queue the remaining elements, if there are any.
  template <std::int64_t N> auto dequeue_up_to() const {
    static_assert(N > 0, "dequeue_up_to: the number of elements is not positive");
    return taken<stacked(Components, unknown)...>(many(N, true));
  }
  /// Removes and returns as many elements, stacked, as a scalar of int32 or int64 says; waits for all of them.
  template <operand Count> auto dequeue_many(Count count) const {
    return taken<stacked(Components, unknown)...>(many(count, false));
  }
  /// Returns the same, but at the end of a closed queue the remaining elements, if there are any.
  template <operand Count> auto dequeue_up_to(Count count) const {
    return taken<stacked(Components, unknown)...>(many(count, true));
  }
  /// Returns the number of elements in the queue when the node runs.
  expr<of<std::int64_t>> size() const { return {add<ops::queue_size_op>(about_, {})}; }
  /// Whether the queue is closed when the node runs.
  expr<of<bool>> is_closed() const { return {add<ops::queue_is_closed_op>(about_, {})}; }
  /// Closes the queue to new elements. Waiting enqueues are completed first; with `cancel` they fail with
  /// error(cancelled). The remaining elements can be dequeued.
  operation close(bool cancel = false) const try {
    ops::queue_close_op::attributes a{about_};
    a.cancel = cancel;
    return add<ops::queue_close_op>(a, {});
  } catch (...) {
    rethrow_as_error();
  }

  /// Returns the name in the container.
  std::string const& name() const { return about_.queue; }
  /// Returns the queue in a container.
  std::shared_ptr<queue_state> in(container& c) const try {
    return c.queue(about_.queue, about_.options());
  } catch (...) {
    rethrow_as_error();
  }

 private:
  template <class X, type T> static void check() {
    if constexpr (!detail::may_be<X, T>) {
      constexpr auto said =
          detail::sentence_of_types("enqueue: a value is not of its component's type", X::static_type, T);
      detail::named<said>().compiles();
    }
  }
  template <class X, type T> static void check_rows() {
    if constexpr (typed<X>)
      static_assert(X::static_type.rank > 0 && accepts(stacked(T, unknown), X::static_type),
                    "enqueue_many: the rows of a value are not of its component's type");
  }
  template <class Op> value add(attributes_of<Op> const& a, std::vector<value> const& x) const try {
    return record_erased<Op>(*graph_, a, x, about_.queue + "/" + std::string(Op::name));
  } catch (...) {
    rethrow_as_error();
  }
  value many(std::int64_t n, bool fewer) const try {
    ops::dequeue_many_op::attributes a{about_};
    a.count = n;
    a.fewer = fewer;
    return add<ops::dequeue_many_op>(a, {});
  } catch (...) {
    rethrow_as_error();
  }
  value many(value n, bool fewer) const try {
    ops::dequeue_many_op::attributes a{about_};
    a.fewer = fewer;
    return add<ops::dequeue_many_op>(a, {n});
  } catch (...) {
    rethrow_as_error();
  }
  template <type... T> static auto taken(value v) {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      if constexpr (sizeof...(T) == 1) return (expr<T>{v}, ...);
      else return std::tuple{expr<T>{{v.graph, v.node, static_cast<std::uint32_t>(Index)}}...};
    }(std::make_index_sequence<sizeof...(T)>{});
  }

  graph* graph_;
  ops::queue_attributes about_;
};

/// A queue that returns elements first in, first out.
template <type... C> queue<C...> fifo_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::fifo, s, std::move(name), false};
}
/// A queue that returns elements in random order, each drawn from all elements in it.
template <type... C> queue<C...> shuffle_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::shuffled, s, std::move(name), false};
}
/// A queue that returns elements in random order, each drawn from the oldest `min_after_dequeue` + 1. If they are added
/// in the same order, they are returned in the same order in each run.
template <type... C> queue<C...> window_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::windowed, s, std::move(name), false};
}
/// A queue that returns the element with the smallest first component, an int64 scalar, first.
template <type... C> queue<C...> priority_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::priority, s, std::move(name), false};
}
/// A queue that returns elements first in, first out; elements dequeued together are padded with zeros to the same
/// extents.
template <type... C> queue<C...> padding_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::fifo, s, std::move(name), true};
}

/// A queue that returns `together` elements of one bucket at once; the first component, an int64 scalar, is the bucket.
/// The bucket that was complete first comes first; elements are padded like a padding queue's. Dequeue exactly
/// `together` elements; at the end of a closed queue `dequeue_up_to` returns the rest, bucket by bucket. Elements of
/// incomplete buckets do not count toward the capacity.
template <type... C> queue<C...> bucket_queue(graph& g, queue_options const& s, std::string name = {}) {
  return {g, queue_order::bucketed, s, std::move(name), true};
}

/// Returns the same as `q.dequeue()`.
template <type... C> auto dequeue(queue<C...> const& q) { return q.dequeue(); }
/// Returns the same as `q.dequeue_many<N>()`.
template <std::int64_t N, type... C> auto dequeue_many(queue<C...> const& q) { return q.template dequeue_many<N>(); }
/// Returns the same as `q.dequeue_up_to<N>()`.
template <std::int64_t N, type... C> auto dequeue_up_to(queue<C...> const& q) { return q.template dequeue_up_to<N>(); }
/// Returns the same as `q.dequeue_many(count)`.
template <type... C, operand Count> auto dequeue_many(queue<C...> const& q, Count count) {
  return q.dequeue_many(count);
}
/// Returns the same as `q.dequeue_up_to(count)`.
template <type... C, operand Count> auto dequeue_up_to(queue<C...> const& q, Count count) {
  return q.dequeue_up_to(count);
}

}  // namespace rill
