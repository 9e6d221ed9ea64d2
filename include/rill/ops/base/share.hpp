// Loops shared among threads in runs of consecutive indices.
#pragma once
#include <cstddef>

#include "rill/base/parallel.hpp"

namespace rill::kernels {

/// Calls `f(begin, end)` for consecutive runs of [0, count): each of at least `least` indices if there are that many,
/// and a few runs for each thread. What `f` does with an index must not depend on its run.
template <class F>
void share(parallel const& threads, std::ptrdiff_t count, std::ptrdiff_t least, F const& f) noexcept {
  std::ptrdiff_t const most = threads.threads > 1 ? 4 * threads.threads : 1;
  std::ptrdiff_t const wanted = least > 1 ? count / least : count;
  std::ptrdiff_t const runs = wanted < 1 ? 1 : wanted < most ? wanted : most;
  threads(static_cast<std::size_t>(runs), [&](std::size_t run) {
    auto const i = static_cast<std::ptrdiff_t>(run);
    f(count * i / runs, count * (i + 1) / runs);
  });
}

}  // namespace rill::kernels
