#include "page_locked.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

#include "failure.hpp"

namespace rill::emulated {
namespace {

constexpr std::size_t alignment = 256;

std::size_t page() {
  static std::size_t const bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

page_locked_memory& page_locked() {
  static auto& made = *new page_locked_memory;
  return made;
}

void* page_locked_memory::allocate(std::size_t bytes, context const& owner) {
  expect(bytes != 0, status::invalid_value);
  expect(bytes <= std::size_t{1} << 40, status::out_of_memory);
  std::size_t const used = rounded(bytes, page()), mapped = used + 2 * page();
  void* const at = ::mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  expect(at != MAP_FAILED, status::out_of_memory);
  std::byte* const begin = static_cast<std::byte*>(at) + page();
  if (::mprotect(begin, used, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(at, mapped);
    throw failure{status::out_of_memory};
  }
  std::memset(begin, 0xff, used);
  std::byte* const given = begin + used - rounded(bytes, alignment);
  std::lock_guard const lock(mutex_);
  allocations_.emplace(reinterpret_cast<std::uintptr_t>(given), allocation{bytes, &owner});
  return given;
}

page_locked_memory::iterator page_locked_memory::remove(iterator at) {
  std::uintptr_t const begin = at->first / page() * page() - page();
  ::munmap(reinterpret_cast<void*>(begin), rounded(at->second.bytes, page()) + 2 * page());
  return allocations_.erase(at);
}
void page_locked_memory::free(void* at) {
  std::lock_guard const frees(freeing_);
  std::lock_guard const lock(mutex_);
  auto const found = allocations_.find(reinterpret_cast<std::uintptr_t>(at));
  expect(found != allocations_.end(), status::invalid_value);
  remove(found);
}
void page_locked_memory::free_all(context const& owner) {
  std::lock_guard const frees(freeing_);
  std::lock_guard const lock(mutex_);
  for (auto at = allocations_.begin(); at != allocations_.end();)
    at = at->second.owner == &owner ? remove(at) : std::next(at);
}

memory_range page_locked_memory::find(std::uintptr_t at) const {
  std::lock_guard const lock(mutex_);
  auto const above = allocations_.upper_bound(at);
  if (above == allocations_.begin()) return {0, 0};
  auto const& [begin, found] = *std::prev(above);
  return at - begin < found.bytes ? memory_range{begin, found.bytes} : memory_range{0, 0};
}
std::size_t page_locked_memory::allocations() const {
  std::lock_guard const lock(mutex_);
  return allocations_.size();
}
std::size_t page_locked_memory::bytes() const {
  std::lock_guard const lock(mutex_);
  std::size_t sum = 0;
  for (auto const& [begin, each] : allocations_) sum += each.bytes;
  return sum;
}

}  // namespace rill::emulated
