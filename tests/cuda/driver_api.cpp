#include "rill/cuda/driver_api.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace rill::cuda {
namespace {

TEST(driver_api, goes_over_all_entries_once) {
  driver_api api;
  std::set<std::string> names;
  api.for_each([&](auto& each) { EXPECT_TRUE(names.insert(each.symbol).second) << each.symbol; });
  EXPECT_EQ(names.size() * sizeof api.init, sizeof api);
}

}  // namespace
}  // namespace rill::cuda

#if defined(RILL_CUDA_TOOLKIT)
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstddef>
#include <type_traits>

#include "rill/cuda/nvrtc_api.hpp"

namespace rill::cuda {
namespace {

// Whether a type of rill's is the toolkit's for whoever calls: the same, both enumerations of one size, both pointers
// to objects that nobody knows, or functions of such types.
template <class Ours, class Theirs> struct alike : std::is_same<Ours, Theirs> {};
template <class Ours, class Theirs>
concept both_enumerations = (std::is_enum_v<Ours> || std::is_same_v<Ours, int>) && std::is_enum_v<Theirs>;
template <class Ours, class Theirs>
  requires both_enumerations<Ours, Theirs>
struct alike<Ours, Theirs> : std::bool_constant<sizeof(Ours) == sizeof(Theirs)> {};
template <class Ours, class Theirs> struct alike<Ours*, Theirs*> : alike<Ours, Theirs> {};
template <class Ours, class Theirs> struct alike<Ours const, Theirs const> : alike<Ours, Theirs> {};
template <class R, class... A, class TheirR, class... TheirA>
  requires(sizeof...(A) == sizeof...(TheirA))
struct alike<R(A...), TheirR(TheirA...)>
    : std::bool_constant<alike<R, TheirR>::value && (alike<A, TheirA>::value && ...)> {};

template <> struct alike<context_object, CUctx_st> : std::true_type {};
template <> struct alike<stream_object, CUstream_st> : std::true_type {};
template <> struct alike<event_object, CUevent_st> : std::true_type {};
template <> struct alike<module_object, CUmod_st> : std::true_type {};
template <> struct alike<function_object, CUfunc_st> : std::true_type {};
template <> struct alike<pool_object, CUmemPoolHandle_st> : std::true_type {};
template <> struct alike<nvrtc_program_object, _nvrtcProgram> : std::true_type {};
template <> struct alike<uuid, CUuuid> : std::bool_constant<sizeof(uuid) == sizeof(CUuuid)> {};
template <> struct alike<pool_properties, CUmemPoolProps> : std::true_type {};  // compared below
template <> struct alike<pool_access, CUmemAccessDesc> : std::true_type {};     // compared below, too
static_assert(!alike<status(int*), CUresult(unsigned*)>::value && !alike<status(int), CUresult(int, int)>::value);

static_assert(sizeof(pool_properties) == sizeof(CUmemPoolProps) && alignof(pool_properties) == alignof(CUmemPoolProps));
static_assert(offsetof(pool_properties, allocation_type) == offsetof(CUmemPoolProps, allocType));
static_assert(offsetof(pool_properties, handle_types) == offsetof(CUmemPoolProps, handleTypes));
static_assert(offsetof(pool_properties, location) == offsetof(CUmemPoolProps, location));
static_assert(offsetof(pool_properties, security) == offsetof(CUmemPoolProps, win32SecurityAttributes));
static_assert(offsetof(pool_properties, max_size) == offsetof(CUmemPoolProps, maxSize));
static_assert(offsetof(pool_properties, usage) == offsetof(CUmemPoolProps, usage));
static_assert(offsetof(pool_properties, reserved) == offsetof(CUmemPoolProps, reserved));
static_assert(sizeof(memory_location) == sizeof(CUmemLocation) &&
              offsetof(memory_location, id) == offsetof(CUmemLocation, id));
static_assert(sizeof(pool_access) == sizeof(CUmemAccessDesc) &&
              offsetof(pool_access, flags) == offsetof(CUmemAccessDesc, flags) &&
              CU_MEM_ACCESS_FLAGS_PROT_READWRITE == 3);
static_assert(CU_MEM_ALLOCATION_TYPE_PINNED == 1 && CU_MEM_LOCATION_TYPE_DEVICE == 1 && CU_MEM_HANDLE_TYPE_NONE == 0);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING && event_blocking_wait == CU_EVENT_BLOCKING_SYNC &&
              event_without_time == CU_EVENT_DISABLE_TIMING && host_portable == CU_MEMHOSTALLOC_PORTABLE);

template <class Ours, class Theirs> constexpr bool is(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(is(status::success, CUDA_SUCCESS) && is(status::invalid_value, CUDA_ERROR_INVALID_VALUE) &&
              is(status::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY) &&
              is(status::not_initialized, CUDA_ERROR_NOT_INITIALIZED) && is(status::no_device, CUDA_ERROR_NO_DEVICE) &&
              is(status::invalid_device, CUDA_ERROR_INVALID_DEVICE) &&
              is(status::invalid_image, CUDA_ERROR_INVALID_IMAGE) &&
              is(status::invalid_context, CUDA_ERROR_INVALID_CONTEXT) &&
              is(status::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU) &&
              is(status::ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE) &&
              is(status::not_found, CUDA_ERROR_NOT_FOUND) && is(status::not_ready, CUDA_ERROR_NOT_READY) &&
              is(status::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS) &&
              is(status::launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) &&
              is(status::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT) &&
              is(status::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS) &&
              is(status::launch_failed, CUDA_ERROR_LAUNCH_FAILED) &&
              is(status::not_supported, CUDA_ERROR_NOT_SUPPORTED) && is(status::unknown, CUDA_ERROR_UNKNOWN));
static_assert(is(device_attribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) &&
              is(device_attribute::clock_rate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) &&
              is(device_attribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) &&
              is(device_attribute::memory_clock_rate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) &&
              is(device_attribute::memory_bus_width, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) &&
              is(device_attribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
              is(device_attribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) &&
              is(device_attribute::memory_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) &&
              is(pool_attribute::release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
static_assert(is(nvrtc_status::success, NVRTC_SUCCESS) && is(nvrtc_status::out_of_memory, NVRTC_ERROR_OUT_OF_MEMORY) &&
              is(nvrtc_status::invalid_option, NVRTC_ERROR_INVALID_OPTION) &&
              is(nvrtc_status::compilation, NVRTC_ERROR_COMPILATION));
static_assert(std::is_same_v<device_id, CUdevice> && std::is_same_v<address, CUdeviceptr>);

// Compares an entry with a function of the toolkit's headers. These give some functions other names (cuMemFree is
// cuMemFree_v2), so the name is what the preprocessor makes of it.
template <class Theirs, class Ours>
void compare(entry<Ours> const& ours, char const* name, std::set<std::string>& seen) {
  static_assert(alike<Ours, Theirs>::value);
  EXPECT_STREQ(ours.symbol, name);
  seen.insert(ours.symbol);
}
#define RILL_TEXT_OF(name) #name
#define RILL_COMPARE(ours, function) compare<decltype(::function)>(api.ours, RILL_TEXT_OF(function), seen)

template <class Api> std::set<std::string> names_of(Api& api) {
  std::set<std::string> all;
  api.for_each([&](auto& each) { all.insert(each.symbol); });
  return all;
}

// Whether one of the toolkit's libraries exports all of these; where there is none, says so.
void expect_exported(std::set<std::string> const& names, char const* library) {
  // It stays: NVRTC doesn't free what it allocates when it is loaded.
  void* const opened = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (!opened) GTEST_SKIP() << "there is no " << library;
  for (auto const& name : names) EXPECT_NE(::dlsym(opened, name.c_str()), nullptr) << name << " in " << library;
  ::dlclose(opened);
}

TEST(driver_api, is_that_of_the_toolkit) {
  driver_api api;
  std::set<std::string> seen;
  RILL_COMPARE(init, cuInit);
  RILL_COMPARE(version, cuDriverGetVersion);
  RILL_COMPARE(error_name, cuGetErrorName);
  RILL_COMPARE(error_text, cuGetErrorString);
  RILL_COMPARE(device_count, cuDeviceGetCount);
  RILL_COMPARE(device, cuDeviceGet);
  RILL_COMPARE(device_name, cuDeviceGetName);
  RILL_COMPARE(device_uuid, cuDeviceGetUuid);
  RILL_COMPARE(device_memory, cuDeviceTotalMem);
  RILL_COMPARE(attribute_of, cuDeviceGetAttribute);
  RILL_COMPARE(can_access_peer, cuDeviceCanAccessPeer);
  RILL_COMPARE(retain_primary_context, cuDevicePrimaryCtxRetain);
  RILL_COMPARE(release_primary_context, cuDevicePrimaryCtxRelease);
  RILL_COMPARE(push_context, cuCtxPushCurrent);
  RILL_COMPARE(pop_context, cuCtxPopCurrent);
  RILL_COMPARE(device_of_context, cuCtxGetDevice);
  RILL_COMPARE(memory_info, cuMemGetInfo);
  RILL_COMPARE(create_pool, cuMemPoolCreate);
  RILL_COMPARE(destroy_pool, cuMemPoolDestroy);
  RILL_COMPARE(set_pool_attribute, cuMemPoolSetAttribute);
  RILL_COMPARE(set_pool_access, cuMemPoolSetAccess);
  RILL_COMPARE(trim_pool, cuMemPoolTrimTo);
  RILL_COMPARE(allocate, cuMemAllocFromPoolAsync);
  RILL_COMPARE(deallocate, cuMemFreeAsync);
  RILL_COMPARE(copy_in, cuMemcpyHtoDAsync);
  RILL_COMPARE(copy_out, cuMemcpyDtoHAsync);
  RILL_COMPARE(copy_within, cuMemcpyDtoDAsync);
  RILL_COMPARE(copy_between, cuMemcpyPeerAsync);
  RILL_COMPARE(allocate_host, cuMemHostAlloc);
  RILL_COMPARE(deallocate_host, cuMemFreeHost);
  RILL_COMPARE(address_of_host, cuMemHostGetDevicePointer);
  RILL_COMPARE(create_stream, cuStreamCreate);
  RILL_COMPARE(destroy_stream, cuStreamDestroy);
  RILL_COMPARE(wait_for_stream, cuStreamSynchronize);
  RILL_COMPARE(make_stream_wait, cuStreamWaitEvent);
  RILL_COMPARE(create_event, cuEventCreate);
  RILL_COMPARE(destroy_event, cuEventDestroy);
  RILL_COMPARE(ask_event, cuEventQuery);
  RILL_COMPARE(wait_for_event, cuEventSynchronize);
  RILL_COMPARE(record_event, cuEventRecord);
  RILL_COMPARE(load_module, cuModuleLoadData);
  RILL_COMPARE(unload_module, cuModuleUnload);
  RILL_COMPARE(find_function, cuModuleGetFunction);
  RILL_COMPARE(launch, cuLaunchKernel);
  EXPECT_EQ(seen, names_of(api));
}

TEST(driver_api, names_what_the_toolkits_libcuda_exports) {
  driver_api api;
  expect_exported(names_of(api), RILL_CUDA_TOOLKIT "/lib64/stubs/libcuda.so");
}

TEST(nvrtc_api, is_that_of_the_toolkit) {
  nvrtc_api api;
  std::set<std::string> seen;
  RILL_COMPARE(error_text, nvrtcGetErrorString);
  RILL_COMPARE(version, nvrtcVersion);
  RILL_COMPARE(architecture_count, nvrtcGetNumSupportedArchs);
  RILL_COMPARE(architectures, nvrtcGetSupportedArchs);
  RILL_COMPARE(create, nvrtcCreateProgram);
  RILL_COMPARE(destroy, nvrtcDestroyProgram);
  RILL_COMPARE(compile, nvrtcCompileProgram);
  RILL_COMPARE(log_size, nvrtcGetProgramLogSize);
  RILL_COMPARE(code_size, nvrtcGetCUBINSize);
  RILL_COMPARE(log, nvrtcGetProgramLog);
  RILL_COMPARE(code, nvrtcGetCUBIN);
  EXPECT_EQ(seen, names_of(api));
}

TEST(nvrtc_api, names_what_the_toolkits_libnvrtc_exports) {
  nvrtc_api api;
  expect_exported(names_of(api), RILL_CUDA_TOOLKIT "/lib64/libnvrtc.so");
}

}  // namespace
}  // namespace rill::cuda
#else
TEST(driver_api, is_that_of_the_toolkit) { GTEST_SKIP() << "there is no CUDA toolkit"; }
TEST(nvrtc_api, is_that_of_the_toolkit) { GTEST_SKIP() << "there is no CUDA toolkit"; }
#endif
