// Queues: tensors that wait between steps (white paper §4.6).
#pragma once
#include "rill/ops/queues/queue_ops.hpp"

namespace rill {

/// How large a queue is, and how a shuffled one draws.
struct queue_options {
  std::int64_t capacity = 1000;        ///< in elements
  std::int64_t min_after_dequeue = 0;  ///< of shuffled queues: so many stay to draw from, until the queue is closed
  std::int64_t seed = 0;               ///< of shuffled queues: the same order for the same seed and the same calls
  std::int64_t together = 0;           ///< of bucket queues: how many of a bucket leave together
};

/// A queue whose elements have these components; a handle, which records operations. The queue itself lies in the
/// session's container, under its name (one of its own if none is given): graphs and sessions that share the container
/// share it. An operation that waits
/// holds no thread.
template <type... Components> class queue {
 public:
  static_assert(sizeof...(Components) > 0, "a queue needs at least one component");

  queue(graph& g, queue_order order, queue_options const& s, std::string name, bool padded)
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
  }

  /// Puts one element in, and waits while the queue is full; error(cancelled) once it is closed.
  template <operand... X> operation enqueue(X... x) const {
    static_assert(sizeof...(X) == sizeof...(Components),
                  "enqueue: an element has as many values as the queue has components");
    (check<X, Components>(), ...);
    return enqueue_by(0, {x...});
  }
  /// The same for values of any handles; `threads` run it once `start_input` is called.
  operation enqueue_by(std::int64_t threads, std::vector<value> const& x) const {
    ops::enqueue_op::attributes a{about_};
    a.threads = threads;
    return add<ops::enqueue_op>(a, x);
  }
  /// Puts each row in, as an element of its own.
  template <operand... X> operation enqueue_many(X... x) const {
    static_assert(sizeof...(X) == sizeof...(Components),
                  "enqueue_many: an element has as many values as the queue has components");
    (check_rows<X, Components>(), ...);
    return add<ops::enqueue_many_op>(about_, {x...});
  }
  /// Takes one element out, and waits for it; error(out_of_range) when the queue is closed and empty.
  auto dequeue() const { return taken<Components...>(add<ops::dequeue_op>(about_, {})); }
  /// Takes N elements out, stacked, and waits for all of them; it takes none if the queue ends before. A padding queue
  /// fills them up with zeros to the largest extents.
  template <std::int64_t N> auto dequeue_many() const {
    static_assert(N >= 0, "dequeue_many: the number of elements is negative");
    return taken<stacked(Components, dim(N))...>(many(N, false));
  }
  /// The same, but at the end of a closed queue those that are left, if there are any.
  template <std::int64_t N> auto dequeue_up_to() const {
    static_assert(N > 0, "dequeue_up_to: the number of elements is not positive");
    return taken<stacked(Components, unknown)...>(many(N, true));
  }
  /// Elements in the queue when the node runs.
  expr<of<std::int64_t>> size() const { return {add<ops::queue_size_op>(about_, {})}; }
  /// Whether the queue is closed when the node runs.
  expr<of<bool>> is_closed() const { return {add<ops::queue_is_closed_op>(about_, {})}; }
  /// Lets no new elements in. Those that wait to get in do get in, and are waited for; if `cancel`, they fail with
  /// error(cancelled). Dequeues take what is left.
  operation close(bool cancel = false) const {
    ops::queue_close_op::attributes a{about_};
    a.cancel = cancel;
    return add<ops::queue_close_op>(a, {});
  }

  /// Returns the name in the container.
  std::string const& name() const { return about_.queue; }
  /// The queue itself, in a container.
  std::shared_ptr<queue_state> in(container& c) const { return c.queue(about_.queue, about_.options()); }

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
  template <class Op> value add(attributes_of<Op> const& a, std::vector<value> const& x) const {
    return record_erased<Op>(*graph_, a, x, about_.queue + "/" + std::string(Op::name));
  }
  value many(std::int64_t n, bool fewer) const {
    ops::dequeue_many_op::attributes a{about_};
    a.count = n;
    a.fewer = fewer;
    return add<ops::dequeue_many_op>(a, {});
  }
  template <type... T> static auto taken(value v) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (sizeof...(T) == 1) return (expr<T>{v}, ...);
      else return std::tuple{expr<T>{{v.graph, v.node, static_cast<std::uint32_t>(I)}}...};
    }(std::make_index_sequence<sizeof...(T)>{});
  }

  graph* graph_;
  ops::queue_attributes about_;
};

/// Elements leave as they came.
template <type... C> queue<C...> fifo_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::fifo, s, std::move(name), false};
}
/// Elements leave in a random order, each drawn from all that are there.
template <type... C> queue<C...> shuffle_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::shuffled, s, std::move(name), false};
}
/// Elements leave in a random order, each drawn from the oldest `min_after_dequeue` + 1: in the same order in each run
/// if they came in the same order.
template <type... C> queue<C...> window_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::windowed, s, std::move(name), false};
}
/// The element with the smallest first component, a scalar of int64, leaves first.
template <type... C> queue<C...> priority_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::priority, s, std::move(name), false};
}
/// Elements leave as they came; those that leave together are filled up with zeros to the same extents.
template <type... C> queue<C...> padding_queue(graph& g, queue_options const& s = {}, std::string name = {}) {
  return {g, queue_order::fifo, s, std::move(name), true};
}

/// As many elements leave together as are to, whose first component, a scalar of int64, is the same, their bucket:
/// those first of which there were enough first, and filled up like a padding queue's. They are dequeued as many at
/// once; at the end of a closed queue `dequeue_up_to` takes what is left, bucket by bucket. Elements that wait for
/// others of their bucket do not count for the capacity.
template <type... C> queue<C...> bucket_queue(graph& g, queue_options const& s, std::string name = {}) {
  return {g, queue_order::bucketed, s, std::move(name), true};
}

/// Returns the same as `q.dequeue()`.
template <type... C> auto dequeue(queue<C...> const& q) { return q.dequeue(); }
/// Returns the same as `q.dequeue_many<N>()`.
template <std::int64_t N, type... C> auto dequeue_many(queue<C...> const& q) { return q.template dequeue_many<N>(); }
/// Returns the same as `q.dequeue_up_to<N>()`.
template <std::int64_t N, type... C> auto dequeue_up_to(queue<C...> const& q) { return q.template dequeue_up_to<N>(); }

}  // namespace rill
