#include "kernel.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>

#include "environment.hpp"
#include "order.hpp"
#include "page_locked.hpp"
#include "position.hpp"
#include "running_block.hpp"

namespace rill::emulated {
namespace {

/// The launch that a thread of the host runs.
struct running_launch {
  device_memory const* memory = nullptr;
  char const* name = nullptr;
  kernel_thread const* now = nullptr;
};
running_launch& running() {
  static thread_local running_launch launch;
  return launch;
}
memory_range find_for_kernel(std::uintptr_t address, std::size_t bytes, std::size_t alignment) try {
  auto const found = running().memory->find(address, bytes);
  if (address % alignment != 0)
    throw kernel_fault{
        status::misaligned_address,
        std::to_string(bytes) + " bytes at an address that is not a multiple of " + std::to_string(alignment)};
  return found;
} catch (kernel_fault& fault) {
  throw kernel_fault{fault.why, text_of(running().name, *running().now) + ": an access to " + fault.what};
}
void wait_for_block(running_block& in, std::source_location where) { in.wait_for_block(where); }
std::uint64_t call_in_warp(running_block& in, warp_call const& call) { return in.call_in_warp(call); }
constexpr host_functions functions{find_for_kernel, wait_for_block, call_in_warp};

/// Finds the variables of an object that begin as zero: what lies behind the file's bytes in a segment.
std::span<std::byte> zeros_of(void const* in_object) {
  ::Dl_info found{};
  if (::dladdr(in_object, &found) == 0) return {};
  auto* const begin = static_cast<std::byte*>(found.dli_fbase);
  ElfW(Ehdr) file;
  std::memcpy(&file, begin, sizeof file);
  for (std::size_t i = 0; i < file.e_phnum; ++i) {
    ElfW(Phdr) segment;
    std::memcpy(&segment, begin + file.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD && segment.p_memsz > segment.p_filesz)
      return {begin + segment.p_vaddr + segment.p_filesz, segment.p_memsz - segment.p_filesz};
  }
  return {};
}

/// Locked while an object is loaded or unloaded, because the next one may get its addresses.
std::mutex& loading() {
  static auto& made = *new std::mutex;
  return made;
}

/// Returns a mutex for each object that is alive, which may have been loaded several times.
std::shared_ptr<std::mutex> mutex_of(object_interface const* object) {
  static auto& all = *new std::map<object_interface const*, std::weak_ptr<std::mutex>>;
  std::erase_if(all, [](auto& each) { return each.second.expired(); });
  auto found = all[object].lock();
  if (!found) all[object] = found = std::make_shared<std::mutex>();
  return found;
}

std::atomic<unsigned long long>& order_cell() {
  static std::atomic<unsigned long long> seed{number_of_environment("RILL_EMULATED_ORDER", 0)};
  return seed;
}

}  // namespace

unsigned long long order_seed() { return order_cell(); }
void set_order_seed(unsigned long long seed) { order_cell() = seed; }

kernel_object::kernel_object(std::string const& path) {
  std::lock_guard const lock(loading());
  library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  expect(library_ != nullptr, status::invalid_image);
  auto* const found = ::dlsym(library_, "rill_emulated_object");
  if (found == nullptr) {
    ::dlclose(library_);
    throw failure{status::invalid_image};
  }
  interface_ = reinterpret_cast<object_interface const* (*)()>(found)();
  running_ = mutex_of(interface_);
  shared_memory_ = zeros_of(interface_);
}
kernel_object::~kernel_object() {
  std::lock_guard const lock(loading());
  ::dlclose(library_);
}
kernel_entry const* kernel_object::find(std::string const& name) const {
  for (std::size_t i = 0; i < interface_->kernel_count; ++i)
    if (interface_->kernels[i].name == name) return &interface_->kernels[i];
  return nullptr;
}

kernel_launch::kernel_launch(std::shared_ptr<kernel_object const> object, kernel_entry const& kernel, extent blocks,
                             extent threads, std::size_t shared_bytes, void* const* arguments)
    : object_(std::move(object)), kernel_(kernel), blocks_(blocks), threads_(threads) {
  expect(blocks.x - 1 < 0x7fff'ffff && blocks.y - 1 < 0xffff && blocks.z - 1 < 0xffff, status::invalid_value);
  expect(threads.x - 1 < 1024 && threads.y - 1 < 1024 && threads.z - 1 < 64 && count_of(threads) <= 1024,
         status::invalid_value);
  expect(shared_bytes <= 227 * 1024, status::invalid_value);
  expect(kernel.most_threads == 0 || count_of(threads) <= kernel.most_threads, status::launch_out_of_resources);
  expect(kernel.parameter_count == 0 || arguments != nullptr, status::invalid_value);
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kernel.parameter_count; ++i) {
    auto const [size, alignment] = kernel.parameters[i];
    bytes = (bytes + alignment - 1) / alignment * alignment;
    offsets.push_back(bytes);
    bytes += size;
  }
  values_.resize((bytes + sizeof(piece) - 1) / sizeof(piece));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    expect(arguments[i] != nullptr, status::invalid_value);
    arguments_.push_back(reinterpret_cast<std::byte*>(values_.data()) + offsets[i]);
    std::memcpy(arguments_.back(), arguments[i], kernel.parameters[i].bytes);
  }
}

void kernel_launch::run(device_memory const& memory, unsigned long long seed) const {
  auto const held = memory.in_use();
  auto const host_held = page_locked().in_use();
  std::lock_guard const alone(object_->running());
  kernel_thread now{{}, {}, threads_, blocks_};
  auto& state = object_->state();
  state = {&now, &functions, nullptr, {}};
  running() = {&memory, kernel_.name, &now};
  if (kernel_.waits) run_fibers(now, seed);
  else run_loop(now, seed);
}

void kernel_launch::run_loop(kernel_thread& now, unsigned long long seed) const {
  order blocks(seed), threads(seed);
  std::size_t const block_count = count_of(blocks_), thread_count = count_of(threads_);
  blocks.begin(block_count);
  for (std::size_t b = 0; b < block_count; ++b) {
    now.block = position(blocks[b], blocks_);
    threads.begin(thread_count);
    for (std::size_t t = 0; t < thread_count; ++t) {
      now.thread = position(threads[t], threads_);
      kernel_.run(arguments_.data());
    }
  }
}

void kernel_launch::run_fibers(kernel_thread& now, unsigned long long seed) const {
  running_block block(kernel_, arguments_.data(), now, seed);
  object_->state().block = &block;
  order blocks(seed);
  std::size_t const block_count = count_of(blocks_);
  blocks.begin(block_count);
  for (std::size_t b = 0; b < block_count; ++b) {
    now.block = position(blocks[b], blocks_);
    auto const shared = object_->shared_memory();
    std::fill(shared.begin(), shared.end(), std::byte{0xff});  // it holds nothing
    block.run();
  }
}

}  // namespace rill::emulated
