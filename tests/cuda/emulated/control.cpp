#include "control.hpp"

#include "compiler.hpp"
#include "driver.hpp"
#include "faults.hpp"
#include "lies.hpp"
#include "page_locked.hpp"

using namespace rill::emulated;

void rill_emulated_set_order(unsigned long long seed) { set_order_seed(seed); }
char const* rill_emulated_last_fault() { return last_fault(); }
void rill_emulated_fail_allocation(unsigned n) { fail_allocation(n); }
void rill_emulated_fail_page_locked(unsigned n) { fail_page_locked(n); }
void rill_emulated_fail_launch(unsigned n) { fail_launch(n); }
void rill_emulated_hold_launch(unsigned n) { hold_launch(n); }
void rill_emulated_release_launches() { release_launches(); }
unsigned long long rill_emulated_launches() { return launches(); }
void rill_emulated_refuse_peers(bool refuse) { refuse_peers(refuse); }
unsigned long long rill_emulated_direct_copies() { return direct_copies(); }

bool rill_emulated_lose_device(int number, status error) try {
  auto& devices = the_driver().devices;
  if (number < 0 || static_cast<std::size_t>(number) >= devices.size()) return false;
  auto& of = *devices[static_cast<std::size_t>(number)];
  std::lock_guard const lock(of.mutex);
  if (!of.primary) return false;
  of.primary->fail(error);
  return true;
} catch (failure const&) {
  return false;
}

rill_emulated_counts rill_emulated_count() try {
  auto& all = the_driver();
  rill_emulated_counts counts{};
  counts.programs = live_programs();
  counts.contexts = all.contexts.size();
  counts.pools = all.pools.size();
  counts.streams = all.streams.size();
  counts.events = all.events.size();
  counts.modules = all.modules.size();
  counts.page_locked = page_locked().allocations();
  counts.page_locked_bytes = page_locked().bytes();
  for (auto const& each : all.devices) {
    counts.allocations += each->memory.allocations();
    counts.bytes += each->memory.bytes();
  }
  return counts;
} catch (failure const&) {
  rill_emulated_counts none{};
  none.programs = live_programs();
  return none;
}
unsigned long long rill_emulated_compiled_texts() { return compiled_texts(); }
unsigned long long rill_emulated_compiled_programs() { return compiled_programs(); }
