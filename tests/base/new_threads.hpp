// Counts the threads that this process starts.
#pragma once
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>

namespace rill {

/// The threads that the process has started since this was constructed, and that have not ended. The system lists a
/// thread that was joined for a moment longer: one from before is none of them.
class new_threads {
 public:
  std::size_t count() const {
    std::size_t n = 0;
    for (auto const& each : all()) n += !before_.contains(each);
    return n;
  }
  /// Whether there are `n`, now or within half a minute.
  bool become(std::size_t n) const {
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (count() != n && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return count() == n;
  }

 private:
  static std::set<std::string> all() {
    static bool const first = (std::thread([] {}).join(), true);  // sanitizers start one of their own with it
    std::set<std::string> names;
    if (first)
      for (auto const& each : std::filesystem::directory_iterator("/proc/self/task"))
        names.insert(each.path().filename().string());
    return names;
  }

  std::set<std::string> before_ = all();
};

}  // namespace rill
