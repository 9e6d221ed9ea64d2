// Parallel loops for the tests of raw kernels: threads that live as long as the loop.
#pragma once
#include <atomic>
#include <thread>
#include <vector>

#include "rill/base/parallel.hpp"

namespace rill::test {

/// A loop on `threads` threads, of which each takes the next chunk.
class thread_loop {
 public:
  explicit thread_loop(int threads) : threads_(threads) {}

  operator parallel() { return {.run = &run, .context = this, .threads = threads_}; }

 private:
  static void run(void* context, std::size_t chunks, parallel::body body, void* argument) {
    std::atomic<std::size_t> next = 0;
    auto const work = [&] {
      for (std::size_t chunk; (chunk = next++) < chunks;) body(argument, chunk);
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < static_cast<thread_loop*>(context)->threads_; ++i) others.emplace_back(work);
    work();
  }

  int threads_;
};

}  // namespace rill::test
