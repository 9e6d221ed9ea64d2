// A kernel's call as work of a device's stream.
#pragma once
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/continuation.hpp"
#include "rill/device/kernel.hpp"
#include "rill/device/stream.hpp"

namespace rill::detail {

/// Returns a failure with the full name of the device on which it was.
inline failure failed_on(std::string const& device, failure why) noexcept try {
  if (!why || !why->device().empty()) return why;
  return as_failure(error(why->kind(), why->message(), why->node(), device));
} catch (std::bad_alloc const&) {
  return why;
}
/// Calls `f()`, which works for a device, and adds its full name to errors.
template <class F> decltype(auto) naming_device(std::string const& device, F const& f) try { return f(); } catch (...) {
  throw error(*failed_on(device, caught_failure()));
}

/// The call of a kernel as work of a stream. `Work` is called with the kernel's call; what it returns is given as the
/// outputs, if the kernel allocates them.
template <class Work>
class device_call final : public stream_work, public std::enable_shared_from_this<device_call<Work>> {
 public:
  device_call(stream& to, std::string const& device, kernel_call const& call, Work work)
      : stream_(to), device_(device), call_(call), work_(std::move(work)) {}

  void run() override { results_ = work_(call_); }
  void done(failure why) noexcept override { end(std::move(why)); }
  /// Keeps itself until it has ended. A request to give up may come later than that, so it only watches.
  void submit() {
    then_ = &call_.from->suspend();
    self_ = this->shared_from_this();
    try {
      then_->on_give_up([watched = this->weak_from_this()](failure why) {
        if (auto const still = watched.lock()) still->give_up(std::move(why));
      });
      stream_.submit(*this);
    } catch (...) {  // it waits already, so it ends like a wait
      end(caught_failure());
    }
  }

 private:
  // The step is to end: work that has not begun is taken back.
  void give_up(failure why) {
    if (stream_.withdraw(*this)) end(std::move(why));
  }
  void end(failure why) noexcept {
    if (!why)
      for (std::size_t o = 0; o < results_.size(); ++o) call_.give(o, std::move(results_[o]));
    auto& then = *then_;
    why = failed_on(device_, std::move(why));
    self_.reset();  // deletes this, but for a thread that asks it to give up
    then.resume(std::move(why));
  }

  stream& stream_;
  std::string const& device_;  // its full name
  kernel_call call_;
  Work work_;
  std::vector<tensor> results_;
  std::shared_ptr<device_call> self_;
  continuation* then_ = nullptr;
};

/// Submits the call of a kernel to a stream of the device of that full name, which outlives the step. Its instruction
/// waits for it, without a thread.
template <class Work>
void submit_call(stream& to, std::string const& device, kernel_call const& call, double seconds, Work work) {
  auto const mine = std::make_shared<device_call<Work>>(to, device, call, std::move(work));
  mine->seconds = seconds;
  mine->submit();
}

}  // namespace rill::detail
