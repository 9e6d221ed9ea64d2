// A kernel's call as work of a device's stream.
#pragma once
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/device/continuation.hpp"
#include "rill/device/kernel.hpp"
#include "rill/device/stream.hpp"

namespace rill::detail {

/// The call of a kernel as work of a stream. `Work` is called with the kernel's call; what it returns is given as the
/// outputs, if the kernel allocates them.
template <class Work>
class device_call final : public stream_work, public std::enable_shared_from_this<device_call<Work>> {
 public:
  device_call(stream& to, kernel_call const& call, Work work) : stream_(to), call_(call), work_(std::move(work)) {}

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
    self_.reset();  // deletes this, but for a thread that asks it to give up
    then.resume(std::move(why));
  }

  stream& stream_;
  kernel_call call_;
  Work work_;
  std::vector<tensor> results_;
  std::shared_ptr<device_call> self_;
  continuation* then_ = nullptr;
};

/// Submits the call of a kernel to a stream. Its instruction waits for it, without a thread.
template <class Work> void submit_call(stream& to, kernel_call const& call, double seconds, Work work) {
  auto const mine = std::make_shared<device_call<Work>>(to, call, std::move(work));
  mine->seconds = seconds;
  mine->submit();
}

}  // namespace rill::detail
