#include "lies.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace rill::emulated {
namespace {

struct lies {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned allocation = 0, page_locked = 0, launch = 0, hold = 0;  // how many calls remain until one fails
  unsigned holds = 0, released = 0;
  unsigned long long launches = 0, direct_copies = 0;
  bool refuses_peers = false;
};
lies& told() {
  static auto& made = *new lies;
  return made;
}
/// Whether the call is the one that a countdown meant.
bool due(unsigned& remaining) { return remaining != 0 && --remaining == 0; }

void set(unsigned lies::* which, unsigned n) {
  std::lock_guard const lock(told().mutex);
  told().*which = n;
}

}  // namespace

void fail_allocation(unsigned n) { set(&lies::allocation, n); }
void fail_page_locked(unsigned n) { set(&lies::page_locked, n); }
void fail_launch(unsigned n) { set(&lies::launch, n); }
void hold_launch(unsigned n) { set(&lies::hold, n); }
void release_launches() {
  std::lock_guard const lock(told().mutex);
  told().released = told().holds;
  told().changed.notify_all();
}

bool next_allocation_fails() {
  std::lock_guard const lock(told().mutex);
  return due(told().allocation);
}
bool next_page_locked_fails() {
  std::lock_guard const lock(told().mutex);
  return due(told().page_locked);
}
launch_fate fate_of_next_launch() {
  std::lock_guard const lock(told().mutex);
  ++told().launches;
  launch_fate fate;
  fate.fails = due(told().launch);
  if (due(told().hold)) fate.held = ++told().holds;
  return fate;
}
unsigned long long launches() {
  std::lock_guard const lock(told().mutex);
  return told().launches;
}
void refuse_peers(bool refuse) {
  std::lock_guard const lock(told().mutex);
  told().refuses_peers = refuse;
}
bool peers_are_refused() {
  std::lock_guard const lock(told().mutex);
  return told().refuses_peers;
}
void count_direct_copy() {
  std::lock_guard const lock(told().mutex);
  ++told().direct_copies;
}
unsigned long long direct_copies() {
  std::lock_guard const lock(told().mutex);
  return told().direct_copies;
}
void wait_for_release(unsigned hold, std::function<bool()> const& ended) {
  std::unique_lock lock(told().mutex);
  told().changed.wait(lock, [&] { return told().released >= hold || ended(); });
}
void look_at_held_launches() {
  std::lock_guard const lock(told().mutex);
  told().changed.notify_all();
}

}  // namespace rill::emulated
