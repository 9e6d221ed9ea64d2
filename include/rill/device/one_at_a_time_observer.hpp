// An observer for steps in which several threads run nodes.
#pragma once
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/observer.hpp"
#include "rill/device/step.hpp"

namespace rill {

namespace detail {

/// Makes the calls of a step's observer sequential, also for nodes in bodies. No thread waits for another: the thread
/// that is calling the observer also makes the calls that other threads leave meanwhile. So an observer may run steps,
/// in which its thread may even work on this step.
class one_at_a_time_observer final : public observer {
 public:
  explicit one_at_a_time_observer(step_context& step) : step_(step), observer_(step.watch) {
    if (observer_) step_.watch = this;
  }
  ~one_at_a_time_observer() override { step_.watch = observer_; }
  void node_ran(node_record const& r) override {
    std::unique_lock lock(mutex_);
    if (std::exchange(calling_, true)) {
      left_.push_back({r, std::string(r.name)});
      return;
    }
    lock.unlock();
    observer_->node_ran(r);
    lock.lock();
    while (!left_.empty()) {
      auto all = std::exchange(left_, {});
      lock.unlock();
      for (auto& [record, name] : all) {
        record.name = name;
        observer_->node_ran(record);
      }
      lock.lock();
    }
    calling_ = false;
  }

 private:
  // A record that another thread left. It owns the name, because the plan may be dropped from a cache before the call.
  struct report {
    node_record record;
    std::string name;
  };
  step_context& step_;
  observer* observer_;
  std::mutex mutex_;
  bool calling_ = false;
  std::vector<report> left_;
};

}  // namespace detail

}  // namespace rill
