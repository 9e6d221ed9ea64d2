// What all kernels of a step share.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rill/base/error.hpp"

namespace rill {

class observer;

/// Asks steps to stop; copies are one and the same.
class cancellation {
 public:
  void cancel() const noexcept { flag_->store(true, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return flag_->load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

/// Where messages of `print` and warnings go; rill writes nothing anywhere unless one is set.
using log_callback = std::function<void(std::string_view)>;

/// One run of a session, as kernels see it.
class step_context {
 public:
  observer* watch = nullptr;   ///< who is told of each node; null: nobody
  std::uint64_t number = 0;    ///< of the step
  std::uint64_t stream = 0;    ///< what random numbers are drawn by: the step, and within loops the iteration as well
  std::int64_t iteration = 0;  ///< of the innermost loop
  log_callback const* log = nullptr;
  std::optional<cancellation> stop;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  /// Throws error(cancelled) or error(deadline_exceeded) when the step is to end. Kernels that run long call it.
  void check() const {
    if (stop && stop->cancelled()) throw error(code::cancelled, "the step was cancelled");
    if (deadline && std::chrono::steady_clock::now() > *deadline)
      throw error(code::deadline_exceeded, "the step ran past its deadline");
  }
  bool can_end_early() const { return stop.has_value() || deadline.has_value(); }
};

}  // namespace rill
