// The entry points of the CUDA driver that rill calls (driver_api.hpp). Each is what it is called for there.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include "driver.hpp"
#include "environment.hpp"
#include "image.hpp"
#include "lies.hpp"
#include "page_locked.hpp"

namespace {

using namespace rill::emulated;
using rill::cuda::device_attribute;
using rill::cuda::device_id;
using rill::cuda::driver_api;
using rill::cuda::event_handle;
using rill::cuda::function_handle;
using rill::cuda::module_handle;
using rill::cuda::pool_handle;
using rill::cuda::stream_handle;

/// Calls f(); what it throws is the status.
template <class F> status guarded(F const& f) noexcept {
  try {
    f();
    return status::success;
  } catch (failure const& failed) {
    return failed.why;
  } catch (std::bad_alloc const&) {
    return status::out_of_memory;
  } catch (std::system_error const&) {  // no thread
    return status::out_of_memory;
  } catch (...) {
    return status::unknown;
  }
}
/// The same with the calling thread's context, if it has not failed.
template <class F> status in_context(F const& f) noexcept {
  return guarded([&] { f(*current_context()); });
}
/// The same for a call that gives something back: it does that in a context that has failed, too.
template <class F> status giving_back(F const& f) noexcept {
  return guarded([&] {
    auto& all = the_driver();
    expect(!current_contexts().empty(), status::invalid_context);
    auto const current = all.contexts.find(current_contexts().back(), context_is_destroyed);
    f(*current);
    expect(current->error() == status::success, current->error());
  });
}

loaded_function find_in(std::shared_ptr<loaded_module> const& of, std::string const& name) {
  for (auto const& each : of->objects)
    if (auto const* const kernel = each->find(name)) return {of, each, kernel};
  throw failure{status::not_found};
}

device& device_of(int number) {
  auto& all = the_driver().devices;
  expect(number >= 0 && static_cast<std::size_t>(number) < all.size(), status::invalid_device);
  return *all[static_cast<std::size_t>(number)];
}
std::shared_ptr<stream> stream_of(context& current, stream_handle handle) {
  if (handle == nullptr) return current.legacy_stream();
  auto found = the_driver().streams.find(handle);
  expect(&found->owner() == &current, invalid_handle);
  return found;
}
std::shared_ptr<event> event_of(context& current, event_handle handle) {
  auto found = the_driver().events.find(handle);
  expect(&found->owner() == &current, invalid_handle);
  return found;
}
template <class T> void put(T* to, T value) {
  expect(to != nullptr, status::invalid_value);
  *to = value;
}

struct named_status {
  status value;
  char const *name, *text;
};
constexpr named_status statuses[] = {
    {status::success, "CUDA_SUCCESS", "no error"},
    {status::invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {status::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {status::not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {status::no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {status::invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {status::invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {status::invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {status::no_binary_for_gpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {status::ecc_uncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {status::not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {status::not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {status::illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {status::launch_out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {status::launch_timeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {context_is_destroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {status::misaligned_address, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {status::launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {status::not_supported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {status::unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
status put_text(status of, char const** to, char const* named_status::* which) {
  return guarded([&] {
    expect(to != nullptr, status::invalid_value);
    *to = nullptr;
    for (auto const& each : statuses)
      if (each.value == of) *to = each.*which;
    expect(*to != nullptr, status::invalid_value);
  });
}

/// Host memory that a copy names: not an address of a device.
void expect_host_memory(void const* at, std::size_t bytes) {
  expect(bytes == 0 || (at != nullptr && (reinterpret_cast<std::uintptr_t>(at) & device_bit) == 0),
         status::invalid_value);
}

/// Whether memory that a copy names is page-locked: all of it, or nothing.
bool is_page_locked(void const* at, std::size_t bytes) {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  auto const found = page_locked().find(address);
  expect(found.bytes == 0 || found.bytes - (address - found.begin) >= bytes, status::invalid_value);
  return found.bytes != 0;
}

/// A copy, checked when the stream reaches it: `copy` is called while no memory is unmapped.
template <class F> void enqueue_copy(context& current, stream& on, F copy) {
  current.enqueue(on, [&memory = current.of().memory, copy = std::move(copy)] {
    auto const held = memory.in_use();
    auto const host_held = page_locked().in_use();
    copy(memory);
  });
}

}  // namespace

extern "C" {

// ---------------------------------------------------------------------------------------------------------------------
// The driver and its devices

status cuInit(unsigned flags) {
  return guarded([&] {
    expect(flags == 0, status::invalid_value);
    initialize();
  });
}
status cuDriverGetVersion(int* version) {
  return guarded([&] { put(version, static_cast<int>(number_of_environment("RILL_EMULATED_DRIVER_VERSION", 13000))); });
}
status cuGetErrorName(status of, char const** to) { return put_text(of, to, &named_status::name); }
status cuGetErrorString(status of, char const** to) { return put_text(of, to, &named_status::text); }

status cuDeviceGetCount(int* count) {
  return guarded([&] { put(count, static_cast<int>(the_driver().devices.size())); });
}
status cuDeviceGet(device_id* to, int number) {
  return guarded([&] { put(to, device_of(number).number); });
}
status cuDeviceGetName(char* name, int bytes, device_id id) {
  return guarded([&] {
    auto const& of = device_of(id);
    expect(name != nullptr && bytes > 0, status::invalid_value);
    std::snprintf(name, static_cast<std::size_t>(bytes), "Emulated GPU %d", of.number);
  });
}
status cuDeviceGetUuid_v2(rill::cuda::uuid* to, device_id id) {
  return guarded([&] {
    auto const number = static_cast<unsigned>(device_of(id).number);
    rill::cuda::uuid made{};
    std::memcpy(made.bytes, "rill emulates", 13);
    for (int i = 0; i < 3; ++i) made.bytes[13 + i] = static_cast<char>(number >> (16 - 8 * i) & 0xff);
    put(to, made);
  });
}
status cuDeviceTotalMem_v2(std::size_t* to, device_id id) {
  return guarded([&] { put(to, device_of(id).memory.total()); });
}
status cuDeviceGetAttribute(int* to, device_attribute which, device_id id) {
  return guarded([&] {
    device_of(id);
    auto const value = [&] {
      switch (which) {
        case device_attribute::max_threads_per_block:
          return 1024;
        case device_attribute::clock_rate:
          return 1'000'000;
        case device_attribute::multiprocessors:
          return 4;
        case device_attribute::memory_clock_rate:
          return 1'000'000;
        case device_attribute::memory_bus_width:
          return 256;
        case device_attribute::compute_capability_major:
          return architecture / 10;
        case device_attribute::compute_capability_minor:
          return architecture % 10;
        case device_attribute::memory_pools:
          return 1;
      }
      throw failure{status::invalid_value};
    };
    put(to, value());
  });
}

status cuDeviceCanAccessPeer(int* to, device_id id, device_id peer) {
  return guarded([&] { put(to, &device_of(id) == &device_of(peer) || peers_are_refused() ? 0 : 1); });
}

// ---------------------------------------------------------------------------------------------------------------------
// Contexts

status cuDevicePrimaryCtxRetain(rill::cuda::context* to, device_id id) {
  return guarded([&] {
    auto& of = device_of(id);
    expect(to != nullptr, status::invalid_value);
    std::lock_guard const lock(of.mutex);
    if (!of.primary) {
      of.primary = std::make_shared<context>(of);
      of.handle = the_driver().contexts.add(of.primary);
    }
    ++of.retained;
    *to = of.handle;
  });
}
status cuDevicePrimaryCtxRelease_v2(device_id id) {
  return guarded([&] {
    auto& of = device_of(id);
    std::lock_guard const lock(of.mutex);
    expect(of.retained != 0, status::invalid_context);
    if (--of.retained != 0) return;
    the_driver().contexts.take(std::exchange(of.handle, nullptr));
    std::exchange(of.primary, nullptr)->end();
  });
}
status cuCtxPushCurrent_v2(rill::cuda::context handle) {
  return guarded([&] {
    the_driver().contexts.find(handle, status::invalid_context);
    current_contexts().push_back(handle);
  });
}
status cuCtxPopCurrent_v2(rill::cuda::context* to) {
  return guarded([&] {
    the_driver();
    expect(!current_contexts().empty(), status::invalid_context);
    if (to != nullptr) *to = current_contexts().back();
    current_contexts().pop_back();
  });
}

status cuCtxGetDevice(device_id* to) {
  return in_context([&](context& current) { put(to, current.of().number); });
}

// ---------------------------------------------------------------------------------------------------------------------
// Memory

status cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
  return in_context([&](context& current) {
    put(available, current.of().memory.available());
    put(total, current.of().memory.total());
  });
}
status cuMemPoolCreate(pool_handle* to, rill::cuda::pool_properties const* properties) {
  return guarded([&] {
    expect(to != nullptr && properties != nullptr, status::invalid_value);
    expect(properties->allocation_type == 1 && properties->location.type == 1, status::invalid_value);
    expect(properties->handle_types == 0, status::not_supported);
    *to = the_driver().pools.add(device_of(properties->location.id).memory.make_pool(properties->max_size));
  });
}
status cuMemPoolDestroy(pool_handle handle) {
  return guarded([&] { the_driver().pools.take(handle, status::invalid_value); });
}
status cuMemPoolSetAttribute(pool_handle handle, rill::cuda::pool_attribute which, void* value) {
  return guarded([&] {
    auto const pool = the_driver().pools.find(handle, status::invalid_value);
    expect(which == rill::cuda::pool_attribute::release_threshold && value != nullptr, status::invalid_value);
    pool->memory.set_threshold(*pool, *static_cast<unsigned long long const*>(value));
  });
}
status cuMemPoolSetAccess(pool_handle handle, rill::cuda::pool_access const* all, std::size_t count) {
  return guarded([&] {
    auto const pool = the_driver().pools.find(handle, status::invalid_value);
    expect(all != nullptr, status::invalid_value);
    for (auto const& each : std::span(all, count)) {
      auto const& other = device_of(each.location.id);
      expect(each.location.type == 1 && (each.flags == 0 || each.flags == 3), status::invalid_value);
      expect(&other.memory != &pool->memory || each.flags != 0,
             status::invalid_device);  // a pool's own device can't lose access
      pool->memory.set_access(*pool, other.number, each.flags != 0);
    }
  });
}
status cuMemPoolTrimTo(pool_handle handle, std::size_t bytes) {
  return guarded([&] {
    auto const pool = the_driver().pools.find(handle, status::invalid_value);
    pool->memory.trim(*pool, bytes);
  });
}
status cuMemAllocFromPoolAsync(address* to, std::size_t bytes, pool_handle handle, stream_handle on) {
  return in_context([&](context& current) {
    auto const pool = the_driver().pools.find(handle, status::invalid_value);
    auto& memory = current.of().memory;
    expect(to != nullptr && &pool->memory == &memory, status::invalid_value);
    auto const stream = stream_of(current, on);
    expect(!next_allocation_fails(), status::out_of_memory);
    address const made = memory.reserve(pool, bytes);
    current.enqueue(*stream, [&memory, made] { memory.begin(made); });
    *to = made;
  });
}
status cuMemFreeAsync(address at, stream_handle on) {
  return giving_back([&](context& current) {
    auto& memory = current.of().memory;
    auto const stream = stream_of(current, on);
    memory.retire(at);
    current.enqueue(*stream, [&memory, at] { memory.end(at); }, context::after_failure::run);
  });
}
status cuMemcpyHtoDAsync_v2(address to, void const* from, std::size_t bytes, stream_handle on) {
  return in_context([&](context& current) {
    auto const stream = stream_of(current, on);
    expect_host_memory(from, bytes);
    if (bytes == 0) return;
    if (is_page_locked(from, bytes)) {
      enqueue_copy(current, *stream, [to, from, bytes](device_memory const& memory) {
        std::memcpy(memory.reach(to, bytes), memory.reach(reinterpret_cast<std::uintptr_t>(from), bytes), bytes);
      });
      return;
    }
    // Memory that is not page-locked is read before the call returns.
    std::shared_ptr<std::byte[]> const staged(new std::byte[bytes]);
    std::memcpy(staged.get(), from, bytes);
    enqueue_copy(current, *stream, [staged, to, bytes](device_memory const& memory) {
      std::memcpy(memory.reach(to, bytes), staged.get(), bytes);
    });
  });
}
status cuMemcpyDtoHAsync_v2(void* to, address from, std::size_t bytes, stream_handle on) {
  return in_context([&](context& current) {
    auto const stream = stream_of(current, on);
    expect_host_memory(to, bytes);
    if (bytes == 0) return;
    enqueue_copy(current, *stream, [to, from, bytes, locked = is_page_locked(to, bytes)](device_memory const& memory) {
      if (locked) memory.find(reinterpret_cast<std::uintptr_t>(to), bytes);  // still there
      std::memcpy(to, memory.reach(from, bytes), bytes);
    });
  });
}
status cuMemcpyDtoDAsync_v2(address to, address from, std::size_t bytes, stream_handle on) {
  return in_context([&](context& current) {
    auto const stream = stream_of(current, on);
    if (bytes == 0) return;
    enqueue_copy(current, *stream, [to, from, bytes](device_memory const& memory) {
      std::memmove(memory.reach(to, bytes), memory.reach(from, bytes), bytes);
    });
  });
}
status cuMemcpyPeerAsync(address to, rill::cuda::context to_context, address from, rill::cuda::context from_context,
                         std::size_t bytes, stream_handle on) {
  return in_context([&](context& current) {
    auto const stream = stream_of(current, on);
    auto& all = the_driver().contexts;
    auto const there = all.find(to_context, status::invalid_context);
    auto const here = all.find(from_context, status::invalid_context);
    for (auto const& each : {there, here}) expect(each->error() == status::success, each->error());
    if (bytes == 0) return;
    current.enqueue(*stream, [to, there, from, here, bytes] {
      auto const &written = there->of().memory, &read = here->of().memory;
      // Copies both ways lock in one order.
      auto const [first, second] = std::minmax({&written, &read}, std::less<>());
      auto const held = first->in_use();
      auto const other_held = first == second ? std::shared_lock<std::shared_mutex>() : second->in_use();
      auto const host_held = page_locked().in_use();
      std::memmove(written.reach(to, bytes), read.reach(from, bytes), bytes);
      if (read.is_open_to(there->of().number, from)) count_direct_copy();
    });
  });
}

status cuMemHostAlloc(void** to, std::size_t bytes, unsigned flags) {
  return in_context([&](context& current) {
    // Besides: mapped for devices, which all of it is, and write-combined.
    constexpr unsigned known = rill::cuda::host_portable | 2 | 4;
    expect(to != nullptr && (flags & ~known) == 0, status::invalid_value);
    expect(!next_page_locked_fails(), status::out_of_memory);
    *to = page_locked().allocate(bytes, current);
  });
}
status cuMemFreeHost(void* at) {
  return giving_back([&](context&) { page_locked().free(at); });
}
status cuMemHostGetDevicePointer_v2(address* to, void* of, unsigned flags) {
  return in_context([&](context&) {
    auto const at = reinterpret_cast<std::uintptr_t>(of);
    expect(flags == 0 && page_locked().find(at).bytes != 0, status::invalid_value);
    put(to, address{at});
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Streams and events

status cuStreamCreate(stream_handle* to, unsigned flags) {
  return in_context([&](context& current) {
    expect(to != nullptr && (flags & ~rill::cuda::stream_non_blocking) == 0, status::invalid_value);
    *to = the_driver().streams.add(current.make_stream((flags & rill::cuda::stream_non_blocking) == 0));
  });
}
status cuStreamDestroy_v2(stream_handle handle) {
  return giving_back([&](context&) { the_driver().streams.take(handle)->close(); });
}
status cuStreamSynchronize(stream_handle handle) {
  return in_context([&](context& current) {
    current.wait_for(*stream_of(current, handle));
    current.of().memory.waited();
    expect(current.error() == status::success, current.error());
  });
}
status cuStreamWaitEvent(stream_handle on, event_handle handle, unsigned flags) {
  return in_context([&](context& current) {
    expect(flags == 0, status::invalid_value);
    auto const stream = stream_of(current, on);
    current.enqueue_wait(*stream, the_driver().events.find(handle)->recorded());
  });
}
status cuEventCreate(event_handle* to, unsigned flags) {
  return in_context([&](context& current) {
    constexpr unsigned known = rill::cuda::event_blocking_wait | rill::cuda::event_without_time;
    expect(to != nullptr && (flags & ~known) == 0, status::invalid_value);
    *to = the_driver().events.add(std::make_shared<event>(current.shared_from_this()));
  });
}
status cuEventDestroy_v2(event_handle handle) {
  return giving_back([&](context&) { the_driver().events.take(handle); });
}
status cuEventRecord(event_handle handle, stream_handle on) {
  return in_context([&](context& current) {
    auto const stream = stream_of(current, on);
    event_of(current, handle)->record(current.mark(*stream));
  });
}
status cuEventQuery(event_handle handle) {
  return in_context([&](context& current) {
    bool const done = event_of(current, handle)->recorded().done();
    expect(current.error() == status::success, current.error());
    expect(done, status::not_ready);
  });
}
status cuEventSynchronize(event_handle handle) {
  return in_context([&](context& current) {
    event_of(current, handle)->recorded().wait();
    current.of().memory.waited();
    expect(current.error() == status::success, current.error());
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Modules and launches

status cuModuleLoadData(module_handle* to, void const* image) {
  return in_context([&](context& current) {
    expect(to != nullptr && image != nullptr, status::invalid_value);
    auto const read = read_image(static_cast<char const*>(image));
    auto made = std::make_shared<loaded_module>(loaded_module{current.shared_from_this(), {}});
    for (auto const& path : read) made->objects.push_back(std::make_shared<kernel_object const>(path));
    *to = the_driver().modules.add(std::move(made));
  });
}
status cuModuleUnload(module_handle handle) {
  return giving_back([&](context&) {
    auto const unloaded = the_driver().modules.take(handle);
    the_driver().functions.take_if([&](loaded_function const& f) { return f.of == unloaded; });
  });
}
status cuModuleGetFunction(function_handle* to, module_handle handle, char const* name) {
  return in_context([&](context& current) {
    expect(to != nullptr && name != nullptr, status::invalid_value);
    auto const of = the_driver().modules.find(handle);
    expect(of->owner.get() == &current, invalid_handle);
    *to = the_driver().functions.add(std::make_shared<loaded_function>(find_in(of, name)));
  });
}
status cuLaunchKernel(function_handle handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, stream_handle on, void** arguments,
                      void** extra) {
  return in_context([&](context& current) {
    auto const stream = stream_of(current, on);
    auto const f = the_driver().functions.find(handle);
    expect(f->of->owner.get() == &current, invalid_handle);
    expect(extra == nullptr, status::not_supported);
    auto launch = std::make_shared<kernel_launch const>(f->object, *f->kernel, extent{grid_x, grid_y, grid_z},
                                                        extent{block_x, block_y, block_z}, shared_bytes, arguments);
    current.enqueue(*stream, [&current, fate = fate_of_next_launch(), seed = order_seed(), launch = std::move(launch)] {
      if (fate.held != 0) {
        auto const ended = [&] { return current.ending() || current.error() != status::success; };
        wait_for_release(fate.held, ended);
        if (ended()) return;
      }
      expect(!fate.fails, status::launch_failed);
      launch->run(current.of().memory, seed);
    });
  });
}

}  // extern "C"

// ---------------------------------------------------------------------------------------------------------------------
// That each is what rill declares

namespace {

template <class F, class Entry> constexpr bool is = std::is_same_v<F, typename Entry::signature>;
using api = driver_api;

static_assert(is<decltype(cuInit), decltype(api::init)>);
static_assert(is<decltype(cuDriverGetVersion), decltype(api::version)>);
static_assert(is<decltype(cuGetErrorName), decltype(api::error_name)>);
static_assert(is<decltype(cuGetErrorString), decltype(api::error_text)>);
static_assert(is<decltype(cuDeviceGetCount), decltype(api::device_count)>);
static_assert(is<decltype(cuDeviceGet), decltype(api::device)>);
static_assert(is<decltype(cuDeviceGetName), decltype(api::device_name)>);
static_assert(is<decltype(cuDeviceGetUuid_v2), decltype(api::device_uuid)>);
static_assert(is<decltype(cuDeviceTotalMem_v2), decltype(api::device_memory)>);
static_assert(is<decltype(cuDeviceGetAttribute), decltype(api::attribute_of)>);
static_assert(is<decltype(cuDevicePrimaryCtxRetain), decltype(api::retain_primary_context)>);
static_assert(is<decltype(cuDevicePrimaryCtxRelease_v2), decltype(api::release_primary_context)>);
static_assert(is<decltype(cuCtxPushCurrent_v2), decltype(api::push_context)>);
static_assert(is<decltype(cuCtxPopCurrent_v2), decltype(api::pop_context)>);
static_assert(is<decltype(cuMemGetInfo_v2), decltype(api::memory_info)>);
static_assert(is<decltype(cuMemPoolCreate), decltype(api::create_pool)>);
static_assert(is<decltype(cuMemPoolDestroy), decltype(api::destroy_pool)>);
static_assert(is<decltype(cuMemPoolSetAttribute), decltype(api::set_pool_attribute)>);
static_assert(is<decltype(cuMemPoolTrimTo), decltype(api::trim_pool)>);
static_assert(is<decltype(cuMemAllocFromPoolAsync), decltype(api::allocate)>);
static_assert(is<decltype(cuMemFreeAsync), decltype(api::deallocate)>);
static_assert(is<decltype(cuMemcpyHtoDAsync_v2), decltype(api::copy_in)>);
static_assert(is<decltype(cuMemcpyDtoHAsync_v2), decltype(api::copy_out)>);
static_assert(is<decltype(cuMemcpyDtoDAsync_v2), decltype(api::copy_within)>);
static_assert(is<decltype(cuDeviceCanAccessPeer), decltype(api::can_access_peer)>);
static_assert(is<decltype(cuMemPoolSetAccess), decltype(api::set_pool_access)>);
static_assert(is<decltype(cuMemcpyPeerAsync), decltype(api::copy_between)>);
static_assert(is<decltype(cuMemHostAlloc), decltype(api::allocate_host)>);
static_assert(is<decltype(cuMemFreeHost), decltype(api::deallocate_host)>);
static_assert(is<decltype(cuMemHostGetDevicePointer_v2), decltype(api::address_of_host)>);
static_assert(is<decltype(cuStreamCreate), decltype(api::create_stream)>);
static_assert(is<decltype(cuStreamDestroy_v2), decltype(api::destroy_stream)>);
static_assert(is<decltype(cuStreamSynchronize), decltype(api::wait_for_stream)>);
static_assert(is<decltype(cuCtxGetDevice), decltype(api::device_of_context)>);
static_assert(is<decltype(cuStreamWaitEvent), decltype(api::make_stream_wait)>);
static_assert(is<decltype(cuEventCreate), decltype(api::create_event)>);
static_assert(is<decltype(cuEventDestroy_v2), decltype(api::destroy_event)>);
static_assert(is<decltype(cuEventRecord), decltype(api::record_event)>);
static_assert(is<decltype(cuEventQuery), decltype(api::ask_event)>);
static_assert(is<decltype(cuEventSynchronize), decltype(api::wait_for_event)>);
static_assert(is<decltype(cuModuleLoadData), decltype(api::load_module)>);
static_assert(is<decltype(cuModuleUnload), decltype(api::unload_module)>);
static_assert(is<decltype(cuModuleGetFunction), decltype(api::find_function)>);
static_assert(is<decltype(cuLaunchKernel), decltype(api::launch)>);

}  // namespace
