// The estimates and limits of planning and execution. Times are nanoseconds of one thread on an ordinary core. Only
// their proportions matter, so rill does not measure them on the machine. A number without a measurement was chosen by
// reasoning; another of the same order of magnitude would do.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rill/graph/op_def.hpp"

namespace rill::costs {

/// A kernel's call takes some 20 ns; a core does 20 operations, or moves 10 bytes, in one.
inline double nanoseconds(cost const& c) { return 20 + std::max(c.flops / 20, c.bytes / 10); }

/// Parallel execution must save at least this much: waking a sleeping thread takes some ten microseconds, and a step
/// does it several times.
inline constexpr double least_parallel_gain = 50'000;
/// An instruction of this length uses all threads by its own loops, so that running others beside it saves nothing.
inline constexpr double own_loops = 50'000;
/// The order of instructions is a table with a bit for each pair: 2 MB for 4096 instructions. Larger plans begin one
/// instruction at a time.
inline constexpr std::size_t most_parallel = 4096;

/// An arena of more blocks is laid out in the order of the step, which is not quadratic. (Doubling the nodes of any
/// plan takes at most 2.2 times as long: docs/measurements/2026-11-24-planning.md.)
inline constexpr std::size_t many_blocks = 3000;
/// The number of sets of arrivals among whose free stretches a block looks for room.
inline constexpr std::size_t most_sets_tried = 64;

/// In tagged execution a shorter kernel runs under the walk's lock, because releasing the lock takes as long.
inline constexpr double short_kernel = 1'500;
/// The longest block of short kernels; other threads wait for it.
inline constexpr double longest_block = 2'000;
/// After this number of tokens a thread checks whether the step is to end, or another thread wants the lock.
inline constexpr unsigned tokens_between_looks = 32;

/// After this number of iterations a loop over single numbers checks whether its step is to end.
inline constexpr std::int64_t laps_between_checks = 64;
/// A body of single numbers with more registers is compiled as a plan.
inline constexpr std::size_t most_registers = 4096;
/// The most lists of argument types for which a step may call one function. Compiling one may begin within another.
inline constexpr std::size_t most_function_forms = 64;
/// The compiled forms of a step's deferred subgraph, and of a body, that are kept.
inline constexpr std::size_t most_deferred_steps = 64, most_deferred_bodies = 256;

}  // namespace rill::costs
