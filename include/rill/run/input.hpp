// Starts the threads of input functions (`batch`, `shuffle_batch`, `prefetch`), which the session owns.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rill/ops/queues/batch.hpp"
#include "rill/run/queue_runner.hpp"

namespace rill {

namespace detail {

/// The runners of a session's input functions, by the queues that they fill.
struct input_runners {
  std::map<std::string, queue_runner> by_queue;
};

}  // namespace detail

/// Starts the threads of the input functions in the session's graph, except those that were started before. The threads
/// end with the session. Their errors, and the end of their input, are errors of the nodes that give batches. To
/// continue from a checkpoint, restore it first.
void start_input(session& s);

#if RILL_RUNTIME

RILL_INLINE void start_input(session& s) try {
  auto& started = s.companion<detail::input_runners>().by_queue;
  auto const& g = s.graph();
  std::map<std::string, std::vector<operation>> fills;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i) {
    if (g[i].op != &definition<ops::enqueue_op>()) continue;
    auto const a = decode<ops::enqueue_op::attributes>(g[i].attributes);
    if (a.threads > 0 && !started.contains(a.queue))
      fills[a.queue].insert(fills[a.queue].end(), static_cast<std::size_t>(a.threads), operation(&s.graph(), i));
  }
  for (auto const& [name, enqueues] : fills) started.try_emplace(name, s, enqueues);
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
