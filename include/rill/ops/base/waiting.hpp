// What kernels that wait share: the kernel leaves a request, and the step continues when the request is served.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rill/device/continuation.hpp"
#include "rill/device/kernel.hpp"
#include "rill/device/step.hpp"
#include "rill/device/step_progress.hpp"

namespace rill::detail {

/// Returns what a kernel waits for that has left a request there.
template <class State> std::string text_of_wait(void const* at) {
  auto const& state = *static_cast<State const*>(at);
  if constexpr (requires { state.as_text(); }) return state.as_text();
  else return "'" + state.name() + "'";
}

/// Tells a step that is reported on of a wait, from its begin to its end. An exchange knows itself what waits there.
class reported_wait {
 public:
  template <class State> reported_wait(kernel_call const& call, std::shared_ptr<State> const& at) {
    if constexpr (requires { at->name(); })
      if ((to_ = call.step.progress) != nullptr) number_ = to_->begin_wait(at, text_of_wait<State>);
  }
  void end() const {
    if (to_) to_->end_wait(number_);
  }

 private:
  step_progress* to_ = nullptr;
  std::uint64_t number_ = 0;
};

/// Leaves a request at `state` and waits. When the request has been served, `take` stores the outputs and the step
/// continues. If the step is stopped first, the request is withdrawn.
template <class State, class Request, class Take>
void suspend(kernel_call const& call, std::shared_ptr<State> const& at, std::shared_ptr<Request> const& r, Take take) {
  auto& later = call.from->suspend();
  r->finished = [&later, wait = reported_wait(call, at), take = std::move(take)](Request& served, failure why) {
    wait.end();
    if (!why) try {
        take(served);
      } catch (...) {
        why = caught_failure();
      }
    later.resume(std::move(why));
  };
  later.on_give_up([at, r](failure why) { at->give_up(*r, std::move(why)); });
}

/// Returns a kernel that waits, and may allocate its outputs itself.
inline kernel waiting(kernel k, bool brings) {
  k.waits = true;
  k.allocates_outputs = brings;
  return k;
}

}  // namespace rill::detail
