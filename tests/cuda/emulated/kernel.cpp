#include "kernel.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "environment.hpp"
#include "order.hpp"
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

/// Shared memory of an object's kernels: of the variables that the object has for each thread, all but its state.
class shared_memory {
 public:
  explicit shared_memory(thread_state& state) : state_(reinterpret_cast<std::byte*>(&state)) {
    ::dl_iterate_phdr([](::dl_phdr_info* info, std::size_t,
                         void* self) { return static_cast<int>(static_cast<shared_memory*>(self)->is_in(*info)); },
                      this);
  }
  /// Fills it with 0xff: it holds nothing when a block begins.
  void fill() const {
    std::memset(begin_, 0xff, static_cast<std::size_t>(state_ - begin_));
    auto* const behind = state_ + sizeof(thread_state);
    std::memset(behind, 0xff, static_cast<std::size_t>(begin_ + bytes_ - behind));
  }

 private:
  bool is_in(::dl_phdr_info const& object) {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
      if (object.dlpi_phdr[i].p_type != PT_TLS || object.dlpi_tls_data == nullptr) continue;
      auto* const begin = static_cast<std::byte*>(object.dlpi_tls_data);
      std::size_t const bytes = object.dlpi_phdr[i].p_memsz;
      if (state_ < begin || state_ >= begin + bytes) continue;
      begin_ = begin, bytes_ = bytes;
      return true;
    }
    return false;
  }

  std::byte* const state_;
  std::byte* begin_ = state_;
  std::size_t bytes_ = sizeof(thread_state);
};

std::atomic<unsigned long long>& order_cell() {
  static std::atomic<unsigned long long> seed{number_of_environment("RILL_EMULATED_ORDER", 0)};
  return seed;
}

}  // namespace

unsigned long long order_seed() { return order_cell(); }
void set_order_seed(unsigned long long seed) { order_cell() = seed; }

kernel_object::kernel_object(std::string const& path) : library_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  expect(library_ != nullptr, status::invalid_image);
  auto* const found = ::dlsym(library_, "rill_emulated_object");
  if (found == nullptr) {
    ::dlclose(library_);
    throw failure{status::invalid_image};
  }
  interface_ = reinterpret_cast<object_interface const* (*)()>(found)();
}
kernel_object::~kernel_object() { ::dlclose(library_); }
kernel_entry const& kernel_object::find(std::string const& name) const {
  for (std::size_t i = 0; i < interface_->kernel_count; ++i)
    if (interface_->kernels[i].name == name) return interface_->kernels[i];
  throw failure{status::not_found};
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
  kernel_thread now{{}, {}, threads_, blocks_};
  auto& state = object_->state();
  state = {&now, &functions, nullptr, {}};
  running() = {&memory, kernel_.name, &now};
  if (kernel_.waits) run_fibers(now, state, seed);
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

void kernel_launch::run_fibers(kernel_thread& now, thread_state& state, unsigned long long seed) const {
  running_block block(kernel_, arguments_.data(), now, seed);
  state.block = &block;
  shared_memory const shared(state);
  order blocks(seed);
  std::size_t const block_count = count_of(blocks_);
  blocks.begin(block_count);
  for (std::size_t b = 0; b < block_count; ++b) {
    now.block = position(blocks[b], blocks_);
    shared.fill();
    block.run();
  }
}

}  // namespace rill::emulated
