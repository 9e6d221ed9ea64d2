// Runs the sessions of tests that know nothing of tasks over two to four servers, which listen at Unix sockets.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/served.hpp"
#include "rill/io.hpp"
#include "rill/ops/list/registry.hpp"
#include "spread.hpp"

namespace rill::test {

/// Splits the steps of all sessions over servers, of which each session has its own.
inline void spread_over_servers(std::uint64_t seed) {
  spread_by(
      [](session_options& o) {
        if (!is_to_spread(o)) return;
        auto options = served_cluster::with(quick());
        options.state = o.state;
        options.operations = all_operations<io_operations>();
        auto const all = std::make_shared<served_cluster>(std::vector<job>{{"test", spread_width()}}, options);
        auto const seen = spread::seed % 2 == 0 ? (*all)[0].target() : connect(all->address(0), quick());
        spread_session(o, seen.tasks, all);
      },
      seed);
}

}  // namespace rill::test
