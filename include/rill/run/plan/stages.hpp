// The stages of a step's compilation that `session::explain` prints.
#pragma once

namespace rill {

/// Which stages are printed: a bitmask type.
enum class stages : unsigned {
  summary = 0,     ///< none of them: what the passes did, and the instructions that remain
  prune = 1,       ///< the nodes that the step needs
  bind = 2,        ///< their types, with the extents of what is fed
  rewrite = 4,     ///< what each pass did
  values = 8,      ///< the values, and the pointers to them
  kernels = 16,    ///< the instructions, and what they read and write
  schedule = 32,   ///< the execution and the reason for it; which instruction waits for which
  memory = 64,     ///< where each value lies, and for how long
  deferred = 128,  ///< what is planned when the rest has run
  bodies = 256,    ///< bodies of loops, branches and functions: the same stages of their plans
  place = 512,     ///< the devices of a session that has some: where each node runs, and why
  all = 1023,
};
/// Returns the stages of both.
constexpr stages operator|(stages a, stages b) {
  return static_cast<stages>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// Returns the stages that are in both.
constexpr stages operator&(stages a, stages b) {
  return static_cast<stages>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
/// Whether `one` is among `which`.
constexpr bool has(stages which, stages one) { return (which & one) == one; }

}  // namespace rill
