// Mutexes and barriers between steps.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/step.hpp"
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/waiting.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/state/container.hpp"

namespace rill::ops {

/// What operations of a mutex or barrier share: they have neither inputs nor outputs.
struct turnstile {
  static constexpr std::int8_t arity = -2;
  static constexpr std::size_t outputs = 0;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr std::string_view rendezvous = "mutex";
  struct attributes {
    std::string mutex;
    static constexpr auto fields(auto const& take) { return take(field{"mutex", &attributes::mutex}); }
  };
  template <class Attributes> static std::vector<type> infer(Attributes const&, std::span<type const> x) {
    expects(x.empty(), "mutexes and barriers take no inputs");
    return {};
  }
};

struct mutex_acquire_op : turnstile {
  using library = void;
  static constexpr bool waits = true;
  static constexpr rendezvous_kind rendezvous_role = rendezvous_kind::locks;
  static constexpr std::string_view name = "mutex_acquire", doc = "acquires a mutex until the step releases it or ends";
  static kernel cpu(kernel_request const& r);
};
struct mutex_release_op : turnstile {
  using library = void;
  static constexpr rendezvous_kind rendezvous_role = rendezvous_kind::unlocks;
  static constexpr std::string_view name = "mutex_release", doc = "releases a mutex that the step holds";
  static kernel cpu(kernel_request const& r);
};
struct barrier_arrive_op : turnstile {
  using library = void;
  static constexpr bool waits = true;
  static constexpr std::string_view name = "barrier_arrive", doc = "waits until all parties have arrived at a barrier",
                                    rendezvous = "barrier";
  struct attributes {
    std::string barrier;
    std::int64_t parties = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"barrier", &attributes::barrier}, field{"parties", &attributes::parties});
    }
  };
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// A mutex between steps, in the session's container. A step releases it when it ends, even by an error. A variable's
/// handle is its value at the beginning of the step: use `read` to read it while the mutex is held.
class mutex {
 public:
  mutex(graph& g, std::string name) : graph_(&g), about_{std::move(name)} {}

  /// Acquires the mutex. Record what needs it after this node: `g.after({m.acquire()}, …)`.
  operation acquire() const { return record_erased<ops::mutex_acquire_op>(*graph_, about_, {}); }
  operation release() const { return record_erased<ops::mutex_release_op>(*graph_, about_, {}); }
  /// Calls `f` and makes its nodes run while the mutex is held; their result is available after the mutex has been
  /// released.
  template <class F> auto locked(F&& f) const try {
    auto& g = graph_->innermost();
    auto const acquired = acquire();
    auto const first = g.size();
    auto const result = g.after({acquired}, f);
    std::vector<operation> all;
    for (auto i = first; i < g.size(); ++i) all.emplace_back(&g, static_cast<std::uint32_t>(i));
    auto const done = g.after(all, [&] { return release(); });
    if constexpr (operand<decltype(result)>) return g.after({done}, [&] { return identity(result); });
    else return done;
  } catch (...) {
    rethrow_as_error();
  }

 private:
  graph* graph_;
  ops::turnstile::attributes about_;
};

/// Waits until `parties` steps have arrived at the barrier of that name in the session's container.
operation arrive(graph& g, std::string name, std::int64_t parties);

#if RILL_RUNTIME

RILL_INLINE operation arrive(graph& g, std::string name, std::int64_t parties) {
  expects(parties > 0, "a barrier needs at least one party");
  return record_erased<ops::barrier_arrive_op>(g, {std::move(name), parties}, {});
}

namespace ops {

RILL_INLINE kernel mutex_acquire_op::cpu(kernel_request const& r) {
  return detail::waiting(
      [m = r.state.mutex(decode<attributes>(r.at.attributes).mutex), ordered = !r.at.may_race,
       name = r.at.name](kernel_call const& call) {
        if (auto const by = call.step.holdings->holder(m.get()); by && ordered)
          throw error(code::failed_precondition,
                      "the step holds the mutex '" + m->name() + "' already, since '" + *by +
                          "': a mutex that is locked within itself would wait for ever. Release it before");
        auto const request = std::make_shared<turn_request>();
        if (call.step.progress) request->by = call.step.progress->running_here();
        detail::suspend(call, m, request, [m, name, held = call.step.holdings](turn_request&) {
          held->add(m.get(), std::shared_ptr<void>(m.get(), [m](void*) { m->release(); }), name);
        });
        m->acquire(request);
      },
      false);
}

RILL_INLINE kernel mutex_release_op::cpu(kernel_request const& r) {
  return kernel([m = r.state.mutex(decode<attributes>(r.at.attributes).mutex)](kernel_call const& call) {
    if (!call.step.holdings->drop(m.get()))
      throw error(code::failed_precondition, "the step does not hold the mutex '" + m->name() + "'");
  });
}

RILL_INLINE kernel barrier_arrive_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return detail::waiting(
      [b = r.state.barrier(a.barrier, a.parties)](kernel_call const& call) {
        auto const request = std::make_shared<turn_request>();
        detail::suspend(call, b, request, [](turn_request&) {});
        b->arrive(request);
      },
      false);
}

}  // namespace ops

#endif

}  // namespace rill
