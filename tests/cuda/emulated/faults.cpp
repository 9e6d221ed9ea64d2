#include "faults.hpp"

#include <deque>
#include <mutex>

namespace rill::emulated {
namespace {

struct recorded {
  std::mutex mutex;
  std::deque<std::string> all;  // all of them, because readers keep addresses
};
recorded& faults() {
  static auto& made = *new recorded;
  return made;
}

}  // namespace

void record_fault(std::string what) {
  std::lock_guard const lock(faults().mutex);
  faults().all.push_back(std::move(what));
}
char const* last_fault() {
  std::lock_guard const lock(faults().mutex);
  return faults().all.empty() ? "" : faults().all.back().c_str();
}

}  // namespace rill::emulated
