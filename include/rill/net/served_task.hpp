// What the connections of a server share, and how the runs of its shares are watched.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/observer.hpp"
#include "rill/net/incarnations.hpp"
#include "rill/net/network.hpp"
#include "rill/net/presence.hpp"
#include "rill/net/share_codec.hpp"
#include "rill/net/step_exchange.hpp"
#include "rill/run/worker.hpp"

namespace rill::net {

/// What all connections of a server share.
struct served_task {
  /// `gone` is set when it is destroyed. That waits for the worker's steps, so no thread of these does it.
  static std::shared_ptr<served_task> make(std::promise<void> gone) {
    return {new served_task, [all = std::make_shared<std::promise<void>>(std::move(gone))](served_task* t) {
              auto const destroy = [t, all] {
                delete t;
                all->set_value();
              };
              if (auto const n = t->net) asio::post(n->work(), [destroy, n] { destroy(); });
              else destroy();
            }};
  }

  std::shared_ptr<network> net;
  std::shared_ptr<worker> here;
  std::shared_ptr<peers> others;
  std::shared_ptr<step_table> steps;
  operation_registry operations;
  std::vector<op_def const*> task_operations =
      {};  // what other tasks may run: `operations`, and what saves checkpoints
  client_limits clients;
  mutable incarnations processes;               ///< of the tasks that have made connections
  mutable presence guests;                      ///< the tasks that are connected
  hello_body hello;                             ///< what it says first
  mutable std::atomic<bool> is_to_end = false;  ///< whether no run begins any more
  mutable std::atomic<std::size_t> connected_clients = 0;
  mutable std::atomic<int> runs = 0;  ///< that others have asked for and that have not ended
};

/// Returns what the run of a share is reported by. `master`: whose step it is.
inline std::shared_ptr<step_progress> progress_of(std::uint64_t step, std::string const& master) {
  return std::make_shared<step_progress>("step " + std::to_string(step) + " of " + master);
}
/// Returns the run of a share for a monitor, which tells what lasts in it by `tell`.
inline monitor::share_here reported_share(std::shared_ptr<step_progress> of, std::shared_ptr<step_exchange> at,
                                          std::function<void(std::vector<lasting>)> tell) {
  auto step = of->step();
  auto sample = [of = std::move(of), at = std::move(at)](auto now, auto least) {
    auto all = of->sample(now, least);
    for (auto& each : at->sample(now, least)) all.push_back(std::move(each));
    return all;
  };
  return {.step = std::move(step), .sample = std::move(sample), .tell = std::move(tell)};
}

/// Copies the results of a share that lie in the memory of this task's devices to the host's, for another process can't
/// reach them there. Returns why one can't be read; null: all can.
inline failure bring_to_host(std::vector<tensor>& results, device_name const& task) noexcept try {
  for (auto& t : results) try {
      t = t.to(host);
    } catch (...) {
      auto const why = caught_failure();
      return failed(why->kind(), {why->message(), ", on ", nested(task, device_name::parse(t.device())).text()});
    }
  return nullptr;
} catch (...) {
  return caught_failure();
}

/// What a share fails with that was stopped because a value was lost is the loss.
inline failure cause_of(failure why, step_exchange const& step) {
  if (!why || why->cause() != cause::asked_for) return why;
  auto const lost = step.why();
  return lost && lost->cause() != cause::derived ? lost : why;
}

/// Ends a share that has run: calls `end` with its results. If it is not known yet whether what it has pushed is where
/// it belongs, calls `settle` when that is known: with null, or with why it is not there. A step that has ended well
/// has received all values, so it need not wait for that.
template <class End, class Settle>
void end_run(step_exchange& step, std::vector<tensor> results, End end, Settle settle) {
  auto const all = std::make_shared<std::vector<tensor>>(std::move(results));
  auto const has_ended = std::make_shared<bool>(false);
  auto const meanwhile = [=] {
    *has_ended = true;
    end(std::move(*all), nullptr, true);
  };
  step.when_delivered(meanwhile, [=](failure why) {
    if (*has_ended) return settle(why && why->cause() != cause::derived ? std::move(why) : nullptr);
    end(why ? std::vector<tensor>() : std::move(*all), std::move(why), false);
  });
}

/// An observer of nodes that run here, for one that is in another process.
class distant_observer final : public observer {
 public:
  distant_observer(std::shared_ptr<link> to, std::uint64_t call, std::uint64_t step)
      : to_(std::move(to)), call_(call), step_(step) {}
  void node_ran(node_record const& r) override {
    std::lock_guard lock(mutex_);
    seen_.push_back({std::string(r.name.substr(0, most_name)), std::string(r.operation), r.begin, r.end});
    bytes_ += seen_.back().name.size() + seen_.back().operation.size();
    if (seen_.size() == most || bytes_ > most_bytes) send();
  }
  void flush() {
    std::lock_guard lock(mutex_);
    if (!seen_.empty()) send();
  }

 private:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::size_t most = 256, most_bytes = std::size_t{256} << 10;  // of one message
  static constexpr std::size_t most_name = std::size_t{4} << 10;                 // of a node
  struct seen {
    std::string name, operation;
    time_point begin, end;
  };
  void send() {
    auto const now = std::chrono::steady_clock::now();
    auto const ago = [&](time_point t) { return std::chrono::nanoseconds(now - t).count(); };
    ran_body body{.call = call_, .step = step_};
    for (auto& s : seen_) body.nodes.push_back({std::move(s.name), std::move(s.operation), ago(s.begin), ago(s.end)});
    seen_.clear();
    bytes_ = 0;
    to_->send({.kind = message_kind::ran, .body = body_of(body)});
  }

  std::shared_ptr<link> to_;
  std::uint64_t const call_, step_;
  std::mutex mutex_;
  std::vector<seen> seen_;
  std::size_t bytes_ = 0;  // of their names
};

}  // namespace rill::net
