// What threads of a warp exchange numbers by.
#pragma once

namespace rill::text {

/// All threads of a warp: they call a function together.
constexpr unsigned all_threads = 0xffff'ffffu;

}  // namespace rill::text
