// What kernels that wait share: a request is left where they wait, and the step goes on when it is served.
#pragma once
#include <memory>
#include <utility>

#include "rill/device/continuation.hpp"
#include "rill/device/kernel.hpp"

namespace rill::detail {

/// What ends a wait: `take` puts the outputs in place unless there was a failure, and the step goes on.
template <class Take> auto going_on(kernel_call const& call, Take take) {
  return [later = call.later, take = std::move(take)](auto& served, failure why) {
    if (!why) try {
        take(served);
      } catch (...) {
        why = caught_failure();
      }
    later->resume(std::move(why));
  };
}

/// If the step is to end before, the request is taken back.
template <class State, class Request>
void may_give_up(kernel_call const& call, std::shared_ptr<State> const& at, std::shared_ptr<Request> const& r) {
  call.later->on_give_up([at, r](failure why) { at->give_up(*r, std::move(why)); });
}

/// A kernel that waits, and perhaps brings its outputs itself.
inline kernel waiting(kernel k, bool brings) {
  k.waits = true;
  k.owns_outputs = brings;
  return k;
}

}  // namespace rill::detail
