// What kernels that wait share: a request is left where they wait, and the step goes on when it is served.
#pragma once
#include <memory>
#include <utility>

#include "rill/device/continuation.hpp"
#include "rill/device/kernel.hpp"

namespace rill::detail {

/// The kernel waits at a state with a request, to be left there. When it has been served, `take` puts the outputs in
/// place, and the step goes on. If the step is to end before, the request is taken back.
template <class State, class Request, class Take>
void suspend(kernel_call const& call, std::shared_ptr<State> const& at, std::shared_ptr<Request> const& r, Take take) {
  auto& later = call.from->suspend();
  r->finished = [&later, take = std::move(take)](Request& served, failure why) {
    if (!why) try {
        take(served);
      } catch (...) {
        why = caught_failure();
      }
    later.resume(std::move(why));
  };
  later.on_give_up([at, r](failure why) { at->give_up(*r, std::move(why)); });
}

/// A kernel that waits, and perhaps brings its outputs itself.
inline kernel waiting(kernel k, bool brings) {
  k.waits = true;
  k.allocates_outputs = brings;
  return k;
}

}  // namespace rill::detail
