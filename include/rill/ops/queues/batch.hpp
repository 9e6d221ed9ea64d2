// Input functions: threads produce examples, which are grouped into batches or prefetched (white paper §4.5, §4.6).
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/ops/queues/queue.hpp"

namespace rill {

/// Options of `batch`.
struct batch_options {
  std::int64_t threads = 1;  ///< that make examples, for each source. With one in all, the batches are the same in each
                             ///< run; with more, examples come as the threads get done with them
  std::int64_t capacity = 0;  ///< of the queue, in examples; 0: two batches and one for each thread
  std::string name = {};      ///< of the queue; empty: a unique one
};

/// Options of `shuffle_batch`.
struct shuffle_options {
  std::int64_t min_after_dequeue = 1000;  ///< each example is drawn from the oldest `min_after_dequeue` + 1
  std::int64_t seed = 0;
  std::int64_t threads = 1;   ///< as in batch_options
  std::int64_t capacity = 0;  ///< 0: as in batch_options, plus `min_after_dequeue`
  std::string name = {};
};

/// Options of `prefetch`.
struct prefetch_options {
  std::int64_t capacity = 2;
  std::int64_t threads = 1;  ///< with more than one, the order of values may change
  std::string name = {};
};

namespace detail {

/// Returns a queue for the examples of a source.
template <class Source> struct example_queue;
template <class... X> struct example_queue<std::tuple<X...>> {
  static constexpr bool are_typed = (typed<X> && ...);
  static_assert(are_typed, "an input function takes typed values of the graph, or tuples of them");
  using type = queue<X::static_type...>;
};
template <class First, class... Rest> struct queue_of_sources : example_queue<First> {
  static constexpr bool of_one_type =
      (std::is_same_v<typename example_queue<First>::type, typename example_queue<Rest>::type> && ...);
};
template <class... X>
using queue_for = std::conditional_t<(operand<X> && ...), std::type_identity<queue_of_sources<std::tuple<X...>>>,
                                     std::type_identity<queue_of_sources<X...>>>::type;
template <class... X> inline constexpr bool of_one_type = queue_for<X...>::of_one_type;

/// Returns the sources of a call: its values are one, or each tuple is one.
template <class... X> std::vector<std::vector<value>> sources_of(X const&... x) {
  if constexpr ((operand<X> && ...)) return {{x...}};
  else return {std::apply([](auto const&... each) { return std::vector<value>{each...}; }, x)...};
}

/// Returns a queue that threads fill from each of the sources.
template <class... X>
auto filled_queue(char const* what, queue_order order, queue_options s, std::int64_t size, std::int64_t threads,
                  std::string const& name, X const&... x) try {
  expects(threads > 0, "an input function needs at least one thread");
  auto const sources = sources_of(x...);
  auto& g = graph_of(sources[0][0]);
  if (s.capacity == 0)
    s.capacity = s.min_after_dequeue + 2 * size + threads * static_cast<std::int64_t>(sources.size());
  typename queue_for<X...>::type q(g, order, s, name.empty() ? g.fresh_name(what) : name,
                                   order == queue_order::bucketed);
  for (auto const& source : sources) q.enqueue_by(threads, source);
  return q;
} catch (...) {
  rethrow_as_error();
}
template <class... X> auto batch_queue(std::int64_t size, batch_options const& s, X const&... x) {
  return filled_queue("batch", queue_order::fifo, {.capacity = s.capacity}, size, s.threads, s.name, x...);
}
template <class... X> auto batch_queue(std::int64_t size, shuffle_options const& s, X const&... x) {
  return filled_queue("shuffle_batch", queue_order::windowed,
                      {.capacity = s.capacity, .min_after_dequeue = s.min_after_dequeue, .seed = s.seed}, size,
                      s.threads, s.name, x...);
}

/// The arguments of an input function.
template <class X> struct is_source : std::bool_constant<operand<X>> {};
template <class... X> struct is_source<std::tuple<X...>> : std::bool_constant<(operand<X> && ...)> {};
template <class... X>
concept sources = sizeof...(X) > 0 && (is_source<X>::value && ...);

}  // namespace detail

/// Returns batches of N examples. `start_input(session)` starts threads that compute `x` repeatedly. When they end with
/// error(out_of_range) and too few examples are left for a batch, the step fails with it, too. The step that needs an
/// example fails with the error of the thread that produced it. `x` are the values of an example, or a tuple for each
/// source, all of the same types: `batch<32>({.threads = 2}, std::tuple{a, b}, std::tuple{c, d})`.
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto batch(batch_options const& s, X const&... x) {
  static_assert(detail::of_one_type<X...>, "the sources of an input function have examples of different types");
  return dequeue_many<N>(detail::batch_queue(N, s, x...));
}
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto batch(X const&... x) {
  return batch<N>(batch_options{}, x...);
}
/// Returns the same, but the remaining examples at the end make a smaller batch; the first extent is unknown.
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto batch_up_to(batch_options const& s, X const&... x) {
  static_assert(detail::of_one_type<X...>, "the sources of an input function have examples of different types");
  return dequeue_up_to<N>(detail::batch_queue(N, s, x...));
}
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto batch_up_to(X const&... x) {
  return batch_up_to<N>(batch_options{}, x...);
}

/// Returns batches of N examples, each drawn from the oldest `min_after_dequeue` + 1. With one thread, the order is the
/// same in each run.
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto shuffle_batch(shuffle_options const& s, X const&... x) {
  static_assert(detail::of_one_type<X...>, "the sources of an input function have examples of different types");
  return dequeue_many<N>(detail::batch_queue(N, s, x...));
}
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto shuffle_batch(X const&... x) {
  return shuffle_batch<N>(shuffle_options{}, x...);
}
/// Returns the same with a smaller batch at the end.
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto shuffle_batch_up_to(shuffle_options const& s, X const&... x) {
  static_assert(detail::of_one_type<X...>, "the sources of an input function have examples of different types");
  return dequeue_up_to<N>(detail::batch_queue(N, s, x...));
}
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto shuffle_batch_up_to(X const&... x) {
  return shuffle_batch_up_to<N>(shuffle_options{}, x...);
}

/// Returns the same values, computed ahead by a separate thread while the previous step runs. Takes and returns values
/// or a tuple: `auto [images, labels] = prefetch(batch<32>(image, label));`.
template <class... X>
  requires detail::sources<X...>
auto prefetch(prefetch_options const& s, X const&... x) {
  static_assert(detail::of_one_type<X...>, "the sources of an input function have examples of different types");
  return dequeue(
      detail::filled_queue("prefetch", queue_order::fifo, {.capacity = s.capacity}, 1, s.threads, s.name, x...));
}
template <class... X>
  requires detail::sources<X...>
auto prefetch(X const&... x) {
  return prefetch(prefetch_options{}, x...);
}

}  // namespace rill
