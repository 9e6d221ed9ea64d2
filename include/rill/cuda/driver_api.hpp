// rill's own declarations of the driver functions that it calls, so that programs compile without the toolkit.
// tests/cuda compares them with the toolkit's cuda.h.
#pragma once
#include <cstddef>

namespace rill::cuda {

/// An entry point of a library that is opened at run time: its name there, and its address once it is found.
template <class F> struct entry;
template <class R, class... A> struct entry<R(A...)> {
  using signature = R(A...);
  char const* symbol;
  R (*call)(A...) = nullptr;

  R operator()(A... arguments) const { return call(arguments...); }
};

/// What calls of the driver return (CUresult): the values that rill or its tests use.
enum class status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  ecc_uncorrectable = 214,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  misaligned_address = 716,
  launch_failed = 719,
  not_supported = 801,
  unknown = 999,
};

/// Properties of a device (CUdevice_attribute).
enum class device_attribute : int {
  max_threads_per_block = 1,
  clock_rate = 13,  ///< of the multiprocessors, in kHz
  multiprocessors = 16,
  memory_clock_rate = 36,  ///< in kHz
  memory_bus_width = 37,   ///< in bits
  compute_capability_major = 75,
  compute_capability_minor = 76,
  memory_pools = 115,  ///< whether it supports stream-ordered allocation
};

/// Properties of a pool of memory that rill sets (CUmemPool_attribute).
enum class pool_attribute : int { release_threshold = 4 };

using device_id = int;               ///< CUdevice
using address = unsigned long long;  ///< CUdeviceptr
struct context_object;               // Opaque objects of the driver.
struct stream_object;
struct event_object;
struct module_object;
struct function_object;
struct pool_object;
using context = context_object*;           ///< CUcontext
using stream_handle = stream_object*;      ///< CUstream
using event_handle = event_object*;        ///< CUevent
using module_handle = module_object*;      ///< CUmodule
using function_handle = function_object*;  ///< CUfunction
using pool_handle = pool_object*;          ///< CUmemoryPool

/// CUuuid.
struct uuid {
  char bytes[16];
};
/// CUmemLocation; `type` 1 is a device, and `id` its number.
struct memory_location {
  int type;
  int id;
};
/// CUmemPoolProps. `allocation_type` 1 is memory of a device, `handle_types` 0 none that other processes may open.
struct pool_properties {
  int allocation_type;
  int handle_types;
  memory_location location;
  void* security;
  std::size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];
};

/// CUmemAccessDesc; `flags` 3: reads and writes.
struct pool_access {
  memory_location location;
  int flags;
};

/// Flags of cuStreamCreate, cuEventCreate and cuMemHostAlloc.
inline constexpr unsigned stream_non_blocking = 1, event_blocking_wait = 1, event_without_time = 2, host_portable = 1;

/// The driver's functions that rill calls.
struct driver_api {
  entry<status(unsigned flags)> init{"cuInit"};
  entry<status(int* version)> version{"cuDriverGetVersion"};
  entry<status(status, char const**)> error_name{"cuGetErrorName"}, error_text{"cuGetErrorString"};

  entry<status(int* count)> device_count{"cuDeviceGetCount"};
  entry<status(device_id*, int number)> device{"cuDeviceGet"};
  entry<status(char* name, int bytes, device_id)> device_name{"cuDeviceGetName"};
  entry<status(uuid*, device_id)> device_uuid{"cuDeviceGetUuid_v2"};
  entry<status(std::size_t*, device_id)> device_memory{"cuDeviceTotalMem_v2"};
  entry<status(int*, device_attribute, device_id)> attribute_of{"cuDeviceGetAttribute"};
  entry<status(int* can, device_id, device_id peer)> can_access_peer{"cuDeviceCanAccessPeer"};

  entry<status(context*, device_id)> retain_primary_context{"cuDevicePrimaryCtxRetain"};
  entry<status(device_id)> release_primary_context{"cuDevicePrimaryCtxRelease_v2"};
  entry<status(context)> push_context{"cuCtxPushCurrent_v2"};
  entry<status(context*)> pop_context{"cuCtxPopCurrent_v2"};
  entry<status(device_id*)> device_of_context{"cuCtxGetDevice"};

  entry<status(std::size_t* free, std::size_t* total)> memory_info{"cuMemGetInfo_v2"};
  entry<status(pool_handle*, pool_properties const*)> create_pool{"cuMemPoolCreate"};
  entry<status(pool_handle)> destroy_pool{"cuMemPoolDestroy"};
  entry<status(pool_handle, pool_attribute, void* value)> set_pool_attribute{"cuMemPoolSetAttribute"};
  entry<status(pool_handle, pool_access const*, std::size_t count)> set_pool_access{"cuMemPoolSetAccess"};
  entry<status(pool_handle, std::size_t bytes)> trim_pool{"cuMemPoolTrimTo"};
  entry<status(address*, std::size_t bytes, pool_handle, stream_handle)> allocate{"cuMemAllocFromPoolAsync"};
  entry<status(address, stream_handle)> deallocate{"cuMemFreeAsync"};
  entry<status(address, void const*, std::size_t, stream_handle)> copy_in{"cuMemcpyHtoDAsync_v2"};
  entry<status(void*, address, std::size_t, stream_handle)> copy_out{"cuMemcpyDtoHAsync_v2"};
  entry<status(address, address, std::size_t, stream_handle)> copy_within{"cuMemcpyDtoDAsync_v2"};
  entry<status(address, context, address, context, std::size_t, stream_handle)> copy_between{"cuMemcpyPeerAsync"};

  entry<status(void**, std::size_t bytes, unsigned flags)> allocate_host{"cuMemHostAlloc"};
  entry<status(void*)> deallocate_host{"cuMemFreeHost"};
  entry<status(address*, void*, unsigned flags)> address_of_host{"cuMemHostGetDevicePointer_v2"};

  entry<status(stream_handle*, unsigned flags)> create_stream{"cuStreamCreate"};
  entry<status(stream_handle)> destroy_stream{"cuStreamDestroy_v2"}, wait_for_stream{"cuStreamSynchronize"};
  entry<status(stream_handle, event_handle, unsigned flags)> make_stream_wait{"cuStreamWaitEvent"};
  entry<status(event_handle*, unsigned flags)> create_event{"cuEventCreate"};
  entry<status(event_handle)> destroy_event{"cuEventDestroy_v2"}, ask_event{"cuEventQuery"},
      wait_for_event{"cuEventSynchronize"};
  entry<status(event_handle, stream_handle)> record_event{"cuEventRecord"};

  entry<status(module_handle*, void const* image)> load_module{"cuModuleLoadData"};
  entry<status(module_handle)> unload_module{"cuModuleUnload"};
  entry<status(function_handle*, module_handle, char const* name)> find_function{"cuModuleGetFunction"};
  entry<status(function_handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
               unsigned block_z, unsigned shared_bytes, stream_handle, void** arguments, void** extra)>
      launch{"cuLaunchKernel"};

  /// Calls `f` with each entry.
  template <class F> void for_each(F const& f) {
    auto const every = [&](auto&... each) { (f(each), ...); };
    every(init, version, error_name, error_text);
    every(device_count, device, device_name, device_uuid, device_memory, attribute_of, can_access_peer);
    every(retain_primary_context, release_primary_context, push_context, pop_context, device_of_context);
    every(memory_info, create_pool, destroy_pool, set_pool_attribute, set_pool_access, trim_pool, allocate, deallocate);
    every(copy_in, copy_out, copy_within, copy_between);
    every(allocate_host, deallocate_host, address_of_host);
    every(create_stream, destroy_stream, wait_for_stream, make_stream_wait);
    every(create_event, destroy_event, ask_event, wait_for_event, record_event);
    every(load_module, unload_module, find_function, launch);
  }
};

}  // namespace rill::cuda
