// How tests make the emulated driver fail (control.hpp).
#pragma once
#include <functional>

namespace rill::emulated {

/// What fails next: each is the number of a call from now on, 1 for the next.
void fail_allocation(unsigned n);
void fail_page_locked(unsigned n);
void fail_launch(unsigned n);
void hold_launch(unsigned n);
void release_launches();

bool next_allocation_fails();
bool next_page_locked_fails();
/// What becomes of a launch.
struct launch_fate {
  bool fails = false;
  unsigned held = 0;  ///< the number of a hold, or 0
};
launch_fate fate_of_next_launch();
/// Returns how many launches there were so far.
unsigned long long launches();
void refuse_peers(bool refuse);
bool peers_are_refused();
/// Counts a direct copy between devices.
void count_direct_copy();
unsigned long long direct_copies();
/// Waits until launches were released after this hold, or `ended()`.
void wait_for_release(unsigned hold, std::function<bool()> const& ended);
/// Asks `ended` again.
void look_at_held_launches();

}  // namespace rill::emulated
