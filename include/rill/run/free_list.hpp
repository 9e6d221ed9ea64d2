// A list of the runs of a step or body that are not in use. Several threads may use it at the same time.
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rill::detail {

template <class Run> class free_list {
 public:
  /// Takes the run that was given back last; null: the list is empty.
  std::unique_ptr<Run> take() {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    auto last = std::move(idle_.back());
    idle_.pop_back();
    return last;
  }
  /// Keeps a run for the next `take`. Destroys it if there is no memory to keep it.
  void give_back(std::unique_ptr<Run> run) noexcept {
    std::lock_guard lock(mutex_);
    try {
      idle_.push_back(std::move(run));
    } catch (...) {
    }
  }
  void clear() {
    std::lock_guard lock(mutex_);
    idle_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Run>> idle_;
};

}  // namespace rill::detail
