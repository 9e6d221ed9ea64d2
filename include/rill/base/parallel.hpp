// A parallel loop as kernels see it: plain pointers, so that kernels compiled for another instruction set can call it.
#pragma once
#include <cstddef>

namespace rill {

/// Runs the chunks of a loop on several threads, the caller's among them, and returns when all chunks are done. Chunks
/// are numbered; the result of a chunk must not depend on the thread that runs it.
struct parallel {
  using body = void (*)(void* argument, std::size_t chunk);
  void (*run)(void* context, std::size_t chunks, body, void* argument) = nullptr;  ///< null: the caller runs all chunks
  void* context = nullptr;
  int threads = 1;  ///< the most threads that may take part, the caller's included

  /// Calls `f(chunk)` for each chunk in [0, chunks); `f` must not throw.
  template <class F> void operator()(std::size_t chunks, F const& f) const {
    each(
        chunks, [](void* argument, std::size_t chunk) { (*static_cast<F const*>(argument))(chunk); },
        const_cast<void*>(static_cast<void const*>(&f)));
  }

 private:
  // Not inlined: otherwise the body of every loop would be compiled twice, once for the caller's own chunks.
  [[gnu::noinline]] void each(std::size_t chunks, body f, void* argument) const {
    if (chunks > 1 && threads > 1 && run != nullptr) return run(context, chunks, f, argument);
    for (std::size_t i = 0; i < chunks; ++i) f(argument, i);
  }
};

}  // namespace rill
