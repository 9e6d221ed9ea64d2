// What the programs of this folder take from CUDA: the driver and NVRTC, with errors as exceptions and what is acquired
// given back.
#pragma once
#include <cuda.h>
#include <nvrtc.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench::cuda {

inline void check(CUresult result, char const* what) {
  if (result == CUDA_SUCCESS) return;
  char const* why = nullptr;
  cuGetErrorString(result, &why);
  throw std::runtime_error(std::string(what) + ": " + (why != nullptr ? why : "unknown error"));
}

/// Seconds on the host's clock since some moment.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The first GPU and its primary context, current on the thread that made this.
class device {
 public:
  /// `waiting` says how the host waits for the GPU: CU_CTX_SCHED_AUTO, _SPIN, _YIELD or _BLOCKING_SYNC.
  explicit device(unsigned waiting = CU_CTX_SCHED_AUTO) {
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&id_, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxSetFlags(id_, waiting), "cuDevicePrimaryCtxSetFlags");
    check(cuDevicePrimaryCtxRetain(&context_, id_), "cuDevicePrimaryCtxRetain");
    use();
  }
  device(device const&) = delete;
  ~device() { cuDevicePrimaryCtxRelease(id_); }

  /// Makes the context current on the calling thread.
  void use() const { check(cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

  CUdevice id() const { return id_; }
  int attribute(CUdevice_attribute which) const {
    int value = 0;
    check(cuDeviceGetAttribute(&value, which, id_), "cuDeviceGetAttribute");
    return value;
  }
  std::string name() const {
    char text[256] = {};
    check(cuDeviceGetName(text, sizeof text, id_), "cuDeviceGetName");
    return text;
  }
  /// NVRTC's name of the architecture, such as sm_90.
  std::string architecture() const {
    return "sm_" + std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
           std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  }
  /// One line about the GPU and the software, for the head of a table.
  std::string summary() const {
    int driver = 0, major = 0, minor = 0;
    check(cuDriverGetVersion(&driver), "cuDriverGetVersion");
    nvrtcVersion(&major, &minor);
    return name() + ", " + std::to_string(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)) +
           " multiprocessors; CUDA driver " + std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10) +
           ", NVRTC " + std::to_string(major) + "." + std::to_string(minor);
  }

 private:
  CUdevice id_ = 0;
  CUcontext context_ = nullptr;
};

/// An owned handle of the driver, which `Destroy` gives back.
template <class Handle, auto Destroy> class owned {
 public:
  owned() = default;
  explicit owned(Handle handle) : handle_(handle) {}
  owned(owned&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  owned& operator=(owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~owned() {
    if (handle_ != Handle{}) Destroy(handle_);
  }
  operator Handle() const { return handle_; }

 private:
  Handle handle_{};
};

using stream = owned<CUstream, &cuStreamDestroy>;
using event = owned<CUevent, &cuEventDestroy>;
using graph = owned<CUgraph, &cuGraphDestroy>;
using graph_exec = owned<CUgraphExec, &cuGraphExecDestroy>;
using device_memory = owned<CUdeviceptr, &cuMemFree>;
using host_memory = owned<void*, &cuMemFreeHost>;
using module = owned<CUmodule, &cuModuleUnload>;

/// A stream that is ordered with the copies and fills that name no stream.
inline stream make_stream() {
  CUstream s = nullptr;
  check(cuStreamCreate(&s, CU_STREAM_DEFAULT), "cuStreamCreate");
  return stream(s);
}
inline event make_event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
  CUevent e = nullptr;
  check(cuEventCreate(&e, flags), "cuEventCreate");
  return event(e);
}
inline device_memory allocate(std::size_t bytes) {
  CUdeviceptr p = 0;
  check(cuMemAlloc(&p, bytes), "cuMemAlloc");
  return device_memory(p);
}
/// Page-locked memory, which the GPU can read and write at the same address.
inline host_memory allocate_on_host(std::size_t bytes) {
  void* p = nullptr;
  check(cuMemHostAlloc(&p, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
  return host_memory(p);
}

inline void wait(CUstream s) { check(cuStreamSynchronize(s), "cuStreamSynchronize"); }

/// The nodes that `f()` enqueues on the stream, as a graph.
template <class F> graph captured(CUstream s, F const& f) {
  check(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  f();
  CUgraph g = nullptr;
  check(cuStreamEndCapture(s, &g), "cuStreamEndCapture");
  return graph(g);
}
inline graph_exec instantiated(CUgraph g) {
  CUgraphExec e = nullptr;
  check(cuGraphInstantiate(&e, g, 0), "cuGraphInstantiate");
  return graph_exec(e);
}
inline void launch(CUgraphExec e, CUstream s) { check(cuGraphLaunch(e, s), "cuGraphLaunch"); }

/// Launches a kernel of blocks of `threads` threads; the arguments have the kernel's own types.
template <class... Arguments>
void launch(CUfunction f, std::size_t blocks, unsigned threads, CUstream s, Arguments... arguments) {
  void* all[] = {&arguments..., nullptr};
  check(cuLaunchKernel(f, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0, s, all, nullptr), "cuLaunchKernel");
}

/// Milliseconds that the GPU takes for what `f()` enqueues: the least of several times.
template <class F> double milliseconds_on_gpu(CUstream s, int times, F const& f) {
  event const begin = make_event(CU_EVENT_DEFAULT), end = make_event(CU_EVENT_DEFAULT);
  float least = 0;
  for (int i = 0; i <= times; ++i) {  // the first warms up
    check(cuEventRecord(begin, s), "cuEventRecord");
    f();
    check(cuEventRecord(end, s), "cuEventRecord");
    check(cuEventSynchronize(end), "cuEventSynchronize");
    float ms = 0;
    check(cuEventElapsedTime(&ms, begin, end), "cuEventElapsedTime");
    least = i <= 1 ? ms : std::min(least, ms);
  }
  return static_cast<double>(least);
}

/// A file of this repository.
inline std::string text_of(std::string const& path) {
  std::ifstream file(std::string(RILL_SOURCE_DIR) + "/" + path);
  if (!file) throw std::runtime_error("found no file " + path + " in " RILL_SOURCE_DIR);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What NVRTC made of a text.
struct compiled {
  std::string code;
  double seconds;
};

/// Compiles CUDA text that includes this folder's and rill's headers. The elementary functions are those of
/// include/rill/program, as they are: include/rill/cuda/text has what stands for packets and for the standard library.
///
/// The options are what gives the processor's bits: no product is contracted with a sum, quotients and roots are
/// rounded correctly, and subnormal numbers stay.
inline compiled compile(std::string const& text, std::string const& architecture,
                        std::vector<std::string> const& more = {}) {
  static std::string const standard = text_of("include/rill/cuda/text/standard.cuh");
  static std::string const packet = text_of("include/rill/cuda/text/packet.cuh");
  std::vector<char const*> names{"rill/program/packet.hpp"}, texts{packet.c_str()};
  for (auto const* name :
       {"array", "bit", "compare", "complex", "concepts", "cstddef", "cstdint", "limits", "type_traits"})
    names.push_back(name), texts.push_back(standard.c_str());

  std::vector<std::string> options{"--std=c++20",
                                   "--gpu-architecture=" + architecture,
                                   "--device-as-default-execution-space",
                                   "--device-int128",
                                   "--fmad=false",
                                   "--prec-div=true",
                                   "--prec-sqrt=true",
                                   "--ftz=false",
                                   "--include-path=" RILL_SOURCE_DIR "/include",
                                   "--include-path=" RILL_SOURCE_DIR "/bench/gpu",
                                   "--define-macro=__extension__=",
                                   "--diag-suppress=1097"};  // unknown attribute: gnu::always_inline
  options.insert(options.end(), more.begin(), more.end());
  std::vector<char const*> arguments;
  for (auto const& option : options) arguments.push_back(option.c_str());

  double const begin = now();
  nvrtcProgram program = nullptr;
  if (nvrtcCreateProgram(&program, text.c_str(), "kernel.cu", static_cast<int>(names.size()), texts.data(),
                         names.data()) != NVRTC_SUCCESS)
    throw std::runtime_error("nvrtcCreateProgram failed");
  auto const result = nvrtcCompileProgram(program, static_cast<int>(arguments.size()), arguments.data());
  std::size_t size = 0;
  if (result != NVRTC_SUCCESS) {
    nvrtcGetProgramLogSize(program, &size);
    std::string log(size, '\0');
    nvrtcGetProgramLog(program, log.data());
    nvrtcDestroyProgram(&program);
    throw std::runtime_error("NVRTC refused a kernel:\n" + text + "\n" + log);
  }
  nvrtcGetCUBINSize(program, &size);
  std::string code(size, '\0');
  nvrtcGetCUBIN(program, code.data());
  nvrtcDestroyProgram(&program);
  return {std::move(code), now() - begin};
}

inline module load(std::string const& code) {
  CUmodule m = nullptr;
  check(cuModuleLoadData(&m, code.data()), "cuModuleLoadData");
  return module(m);
}
inline CUfunction function(CUmodule m, char const* name) {
  CUfunction f = nullptr;
  check(cuModuleGetFunction(&f, m, name), name);
  return f;
}
inline int attribute(CUfunction f, CUfunction_attribute which) {
  int value = 0;
  check(cuFuncGetAttribute(&value, which, f), "cuFuncGetAttribute");
  return value;
}

}  // namespace bench::cuda
