#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "page_locked.hpp"

namespace rill::emulated {
namespace {

constexpr std::size_t alignment = 256;    // of addresses, as CUDA promises
constexpr std::size_t remembered = 4096;  // ended allocations
constexpr std::size_t least_arena = std::size_t{1} << 36;

std::size_t page() {
  static std::size_t const bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }
void* host(std::uintptr_t at) { return reinterpret_cast<void*>(at & ~device_bit); }

std::string hex(std::uintptr_t at) {
  std::string text;
  for (; at != 0; at /= 16) text.insert(text.begin(), "0123456789abcdef"[at % 16]);
  return "0x" + text;
}
std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

/// Where `at` lies beside a range.
std::string beside(std::uintptr_t at, std::uintptr_t begin, std::size_t bytes) {
  if (at < begin) return bytes_text(begin - at) + " before";
  if (at >= begin + bytes) return bytes_text(at - begin - bytes) + " behind the end of";
  return "at byte " + std::to_string(at - begin) + " of";
}

}  // namespace

device_memory::device_memory(std::size_t bytes)
    : total_(bytes), arena_bytes_(std::max(least_arena, 4 * rounded(bytes, page()))) {
  void* const at = ::mmap(nullptr, arena_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  expect(at != MAP_FAILED, status::out_of_memory);
  arena_ = reinterpret_cast<std::uintptr_t>(at);
}
device_memory::~device_memory() { ::munmap(host(arena_), arena_bytes_); }

template <class F> void device_memory::for_each_pool(F const& f) const {
  for (auto const& each : pools_)
    if (auto const pool = each.lock()) f(*pool);
}
std::shared_ptr<memory_pool> device_memory::make_pool(std::size_t most) {
  auto pool = std::make_shared<memory_pool>(memory_pool{*this, most});
  std::lock_guard const lock(mutex_);
  std::erase_if(pools_, [](auto& each) { return each.expired(); });
  pools_.push_back(pool);
  return pool;
}

std::size_t device_memory::available() const {
  std::lock_guard const lock(mutex_);
  std::size_t held = used_;
  for_each_pool([&](memory_pool& pool) { held += pool.kept; });
  return total_ - held;
}
std::size_t device_memory::allocations() const {
  std::lock_guard const lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(allocations_.begin(), allocations_.end(), [](auto& a) { return a.second.now != phase::retired; }));
}
std::size_t device_memory::bytes() const {
  std::lock_guard const lock(mutex_);
  return used_;
}

/// Finds room for pages and a page without access at either side; returns where the pages begin.
std::uintptr_t device_memory::place(std::size_t bytes) {
  std::size_t const room = bytes + 2 * page();
  for (int tries = 0; tries < 2; ++tries, next_ = 0) {
    std::uintptr_t candidate = std::max(next_, arena_);
    auto at = allocations_.lower_bound(candidate | device_bit);
    if (at != allocations_.begin()) candidate = std::max(candidate, std::prev(at)->second.pages_end);
    for (; at != allocations_.end() && at->second.pages < candidate + room; ++at) candidate = at->second.pages_end;
    if (candidate + room <= arena_ + arena_bytes_) {
      next_ = candidate + room;
      return candidate + page();
    }
  }
  throw failure{status::out_of_memory};
}

address device_memory::reserve(std::shared_ptr<memory_pool> const& pool, std::size_t bytes) {
  expect(bytes != 0, status::invalid_value);
  expect(bytes <= total_, status::out_of_memory);
  std::lock_guard const lock(mutex_);
  expect(pool->most == 0 || pool->used + bytes <= pool->most, status::out_of_memory);
  expect(used_ + bytes <= total_, status::out_of_memory);
  std::size_t const mapped = rounded(bytes, page());
  std::uintptr_t const pages = place(mapped);
  std::uintptr_t const begin = (pages + mapped - rounded(bytes, alignment)) | device_bit;
  allocations_.emplace(begin, allocation{pages, pages + mapped, bytes, pool, phase::reserved});

  pool->kept -= std::min(pool->kept, bytes);
  pool->used += bytes, used_ += bytes;
  // Where memory is short, pools give up what they keep.
  std::size_t left = total_ - used_;
  for_each_pool([&](memory_pool& each) { left -= each.kept = std::min(each.kept, left); });
  return begin;
}

void device_memory::begin(address at) {
  std::lock_guard const lock(mutex_);
  auto const found = allocations_.find(at);
  if (found == allocations_.end()) return;
  auto& a = found->second;
  if (::mprotect(host(a.pages), a.pages_end - a.pages, PROT_READ | PROT_WRITE) != 0)
    throw kernel_fault{status::out_of_memory, "the host has no memory for " + bytes_text(a.bytes)};
  std::memset(host(a.pages), 0xff, a.pages_end - a.pages);
  if (a.now == phase::reserved) a.now = phase::usable;
}

void device_memory::retire(address at) {
  std::lock_guard const lock(mutex_);
  auto const found = allocations_.find(at);
  expect(found != allocations_.end() && found->second.now != phase::retired, status::invalid_value);
  auto& a = found->second;
  a.now = phase::retired;
  a.pool->used -= a.bytes, used_ -= a.bytes;
  a.pool->kept += a.bytes;
}

void device_memory::remove(std::map<std::uintptr_t, allocation>::iterator at) {
  auto const& a = at->second;
  ::mmap(host(a.pages), a.pages_end - a.pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
  ended_.push_back({at->first, a.bytes});
  if (ended_.size() > remembered) ended_.pop_front();
  allocations_.erase(at);
}
void device_memory::end(address at) {
  std::lock_guard const unmaps(unmapping_);
  std::lock_guard const lock(mutex_);
  if (auto const found = allocations_.find(at); found != allocations_.end()) remove(found);
}
void device_memory::end_all() {
  std::lock_guard const unmaps(unmapping_);
  std::lock_guard const lock(mutex_);
  while (!allocations_.empty()) {
    auto const first = allocations_.begin();
    if (first->second.now != phase::retired)
      first->second.pool->used -= first->second.bytes, used_ -= first->second.bytes;
    remove(first);
  }
}

void device_memory::trim(memory_pool& pool, std::size_t bytes) {
  std::lock_guard const lock(mutex_);
  pool.kept = std::min(pool.kept, bytes > pool.used ? bytes - pool.used : 0);
}
void device_memory::set_threshold(memory_pool& pool, std::size_t bytes) {
  std::lock_guard const lock(mutex_);
  pool.threshold = bytes;
}
void device_memory::set_access(memory_pool& pool, int device, bool may) {
  std::lock_guard const lock(mutex_);
  if (may) pool.opened_to.insert(device);
  else pool.opened_to.erase(device);
}
bool device_memory::is_open_to(int device, address at) const {
  std::lock_guard const lock(mutex_);
  auto const found = allocations_.upper_bound(at);
  return found != allocations_.begin() && std::prev(found)->second.pool->opened_to.contains(device);
}
void device_memory::waited() {
  std::lock_guard const lock(mutex_);
  for_each_pool([](memory_pool& pool) {
    pool.kept = std::min(pool.kept, pool.threshold > pool.used ? pool.threshold - pool.used : 0);
  });
}

std::string device_memory::nearby(std::uintptr_t at) const {
  for (auto e = ended_.rbegin(); e != ended_.rend(); ++e)
    if (at >= e->begin && at < e->begin + e->bytes)
      return beside(at, e->begin, e->bytes) + " an allocation of " + bytes_text(e->bytes) + " that was freed";
  auto const above = allocations_.lower_bound(at);
  auto nearest = above;
  if (above != allocations_.begin()) {
    auto const below = std::prev(above);
    if (above == allocations_.end() ||
        at - below->first - std::min(at - below->first, below->second.bytes) <= above->first - at)
      nearest = below;
  }
  if (nearest == allocations_.end()) return "the device has no allocation";
  auto const& [begin, a] = *nearest;
  return beside(at, begin, a.bytes) + " an allocation of " + bytes_text(a.bytes) + " at " + hex(begin) +
         (a.now == phase::reserved ? " that its stream has not reached" : "");
}

memory_range device_memory::find(std::uintptr_t at, std::size_t bytes) const {
  std::lock_guard const lock(mutex_);
  auto found = allocations_.upper_bound(at);
  if (found != allocations_.begin()) {
    auto const& [begin, a] = *--found;
    if (at - begin <= a.bytes && a.bytes - (at - begin) >= bytes && a.now != phase::reserved) return {begin, a.bytes};
  }
  std::string const which = bytes_text(bytes) + " at " + hex(at) + ": ";
  if ((at & device_bit) == 0) {
    auto const host = page_locked().find(at);
    if (host.bytes == 0)
      throw kernel_fault{status::illegal_address, which + "no address of a device's memory, nor of page-locked memory"};
    if (host.bytes - (at - host.begin) >= bytes) return host;
    throw kernel_fault{status::illegal_address,
                       which + beside(at, host.begin, host.bytes) + " page-locked memory of " + bytes_text(host.bytes)};
  }
  throw kernel_fault{status::illegal_address, which + nearby(at)};
}

void* device_memory::reach(std::uintptr_t at, std::size_t bytes) const {
  find(at, bytes);
  return host(at);
}

}  // namespace rill::emulated
