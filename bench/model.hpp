// Shared by all cases: a graph with its session, random numbers for tensors, the number of threads and the device.
#pragma once
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <rill/base/error.hpp>
#include <rill/base/processors.hpp>
#include <rill/cuda/gpu.hpp>
#include <rill/run/session.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace bench {

/// The timed function: one call runs one step, prepared call or graph.
using step = std::function<void()>;

/// Returns RILL_THREADS, which the peers read too, or the number of processors that the process may use.
inline int threads() {
  char const* given = std::getenv("RILL_THREADS");
  int const asked = given != nullptr ? std::atoi(given) : 0;
  return asked > 0 ? asked : rill::detail::available_processors();
}

/// Whether RILL_DEVICE is "gpu". Throws if it is neither that nor "cpu", nor unset.
inline bool on_gpu() {
  char const* const said = std::getenv("RILL_DEVICE");
  std::string_view const device = said ? said : "cpu";
  if (device != "cpu" && device != "gpu")
    throw rill::error(rill::code::invalid_argument, "RILL_DEVICE is cpu or gpu, not '" + std::string(device) + "'");
  return device == "gpu";
}

/// Returns options of a session that has the first GPU if `on_gpu`. Throws if that is absent: nobody wants the host's
/// times in its place.
inline rill::session_options options(rill::pass_options passes, rill::execution execution) {
  rill::session_options made{.threads = threads(), .passes = passes, .execution = execution};
  if (!on_gpu()) return made;
  auto card = rill::gpu(0);
  if (auto const why = card->absence()) throw rill::error(*why);
  made.devices = {std::move(card)};
  made.soft_placement = true;
  return made;
}

/// A graph and its session; steps share ownership of both.
struct model {
  rill::graph graph;
  rill::session session;
  explicit model(rill::pass_options passes = {}, rill::execution execution = rill::execution::automatic)
      : session(graph, options(passes, execution)) {}
};

/// Returns what `f` records in a new model. If `on_gpu`, its nodes and their derivatives ask for the GPU, and go to the
/// host only for lack of a kernel there.
template <class F> auto recorded(F const& f) {
  auto const m = std::make_shared<model>();
  if (!on_gpu()) return f(m);
  return m->graph.on("gpu:0", [&] { return m->graph.gradients_beside([&] { return f(m); }); });
}

/// Options without passes: the graph runs as recorded, without merging, folding or fusion.
inline rill::pass_options const as_written = rill::pass_options::none();

/// Returns a step that runs one node and its dependencies and fetches no value.
inline step run_of(std::shared_ptr<model> m, rill::operation last) {
  auto call = m->session.prepare(rill::inputs(), rill::outputs(), last);
  return [m, call]() mutable { call(); };
}

/// Returns a tensor of normally distributed numbers.
inline rill::tensor normal(rill::shape const& extents, float deviation = 0.05f) {
  static std::mt19937 bits(7);
  rill::tensor t(rill::dtype::float32, extents);
  std::normal_distribution<float> draw(0, deviation);
  for (float& x : std::span(t.mutable_data<float>(), static_cast<std::size_t>(t.elements()))) x = draw(bits);
  return t;
}

inline rill::tensor zeros(rill::shape const& extents) {
  rill::tensor t(rill::dtype::float32, extents);
  std::fill_n(t.mutable_data<float>(), t.elements(), 0.0f);
  return t;
}

/// Returns a tensor of whole numbers in [0, end).
inline rill::tensor integers(rill::shape const& extents, std::int32_t end) {
  static std::mt19937 bits(8);
  rill::tensor t(rill::dtype::int32, extents);
  std::uniform_int_distribution<std::int32_t> draw(0, end - 1);
  for (auto& x : std::span(t.mutable_data<std::int32_t>(), static_cast<std::size_t>(t.elements()))) x = draw(bits);
  return t;
}

}  // namespace bench
