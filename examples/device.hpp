// `--device gpu`: the examples that train on a GPU do it with these few lines.
#pragma once
#include <rill/cuda.hpp>

#include <cstdio>
#include <string_view>

namespace example {

/// Returns options for a session that also has the first GPU if `device` is "gpu". Without a GPU everything runs on the
/// host, and the session says so on stderr.
inline rill::session_options with_device(std::string_view device, rill::session_options options = {}) {
  if (device != "gpu") return options;
  options.log = [](std::string_view text) { std::fprintf(stderr, "%.*s", static_cast<int>(text.size()), text.data()); };
  options.devices = {rill::gpu(0, {.log = options.log})};
  options.soft_placement = true;
  return options;
}

/// Returns what `f` returns. The nodes that it records ask for the device, and so do their derivatives, which would
/// otherwise go where they are estimated to end first: for small models, that is the host.
template <class F> auto on_device(rill::graph& g, std::string_view device, F const& f) {
  return g.on(device, [&] { return g.gradients_beside(f); });
}

}  // namespace example
