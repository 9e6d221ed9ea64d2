#include "kernel.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <random>

#include "environment.hpp"

namespace rill::emulated {
namespace {

std::size_t count_of(extent e) { return std::size_t{e.x} * e.y * e.z; }
extent position(std::size_t i, extent in) {
  return {static_cast<unsigned>(i % in.x), static_cast<unsigned>(i / in.x % in.y),
          static_cast<unsigned>(i / in.x / in.y)};
}
std::string text_of(extent e) {
  return "(" + std::to_string(e.x) + ", " + std::to_string(e.y) + ", " + std::to_string(e.z) + ")";
}

/// The numbers below a count in an order that comes from a seed.
class order {
 public:
  explicit order(unsigned long long seed) : seed_(seed), random_(seed) {}

  /// Begins a new order, each time another one if it is random.
  void begin(std::size_t count) {
    count_ = count;
    if (seed_ < 2) return;
    shuffled_.resize(count);
    std::iota(shuffled_.begin(), shuffled_.end(), std::size_t{0});
    for (std::size_t i = count; i > 1; --i) std::swap(shuffled_[i - 1], shuffled_[random_() % i]);
  }
  std::size_t operator[](std::size_t i) const { return seed_ == 0 ? i : seed_ == 1 ? count_ - 1 - i : shuffled_[i]; }

 private:
  unsigned long long seed_;
  std::mt19937_64 random_;
  std::size_t count_ = 0;
  std::vector<std::size_t> shuffled_;
};

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
std::string where() {
  auto const& [memory, name, now] = running();
  return std::string("kernel ") + name + ", block " + text_of(now->block) + ", thread " + text_of(now->thread) +
         ": an access to ";
}

memory_range find_for_kernel(std::uintptr_t address, std::size_t bytes, std::size_t alignment) try {
  auto const found = running().memory->find(address, bytes);
  if (address % alignment != 0)
    throw memory_fault{
        status::misaligned_address,
        std::to_string(bytes) + " bytes at an address that is not a multiple of " + std::to_string(alignment)};
  return found;
} catch (memory_fault& fault) {
  throw memory_fault{fault.why, where() + fault.what};
}
constexpr host_functions functions{find_for_kernel};

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
  state = {&now, &functions, {}};
  running() = {&memory, kernel_.name, &now};
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

}  // namespace rill::emulated
