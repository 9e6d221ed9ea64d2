// NVRTC: from CUDA text to code for a GPU.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "rill/cuda/library.hpp"
#include "rill/cuda/nvrtc_api.hpp"

namespace rill::cuda {

/// The compiler of CUDA text. Several threads may call it.
class nvrtc {
 public:
  /// Opens the first of these libraries that can be opened. Throws error(unavailable) if none can.
  explicit nvrtc(std::vector<std::string> const& names = library_names("RILL_NVRTC",
                                                                       {"libnvrtc.so.13", "libnvrtc.so.12"}));

  /// Returns the code for a compute capability, for instance 90. The text may include rill's headers that this library
  /// holds (embedded_headers.hpp). Throws error(internal) with NVRTC's messages if it refuses the text.
  std::string compile(std::string const& text, int capability) const;
  /// Returns what ptxas says of each kernel of a text for a compute capability: its registers, spills, shared memory.
  /// Throws as compile() does.
  std::string report(std::string const& text, int capability) const;
  /// Returns the options with which it compiles for a compute capability.
  std::vector<std::string> options(int capability) const;
  /// Returns what tells its code from that of another NVRTC: its version, and the build of its library.
  std::string identity() const;
  /// Returns the newest architecture that NVRTC supports whose code runs on a device of this capability. Throws
  /// error(unavailable) if none of them does.
  int newest_for(int capability) const;
  /// Returns the version, 1000 times the major number plus 10 times the minor one, as the driver counts.
  int version() const noexcept { return version_; }

 private:
  library library_;
  nvrtc_api api_;
  int version_ = 0;
};

/// Opens the first of these libraries that compiles for a device of this capability, and whose major version a driver
/// of this version supports. Throws error(unavailable) and says of each why not.
nvrtc open_nvrtc(int capability, int driver_version,
                 std::vector<std::string> const& names = library_names("RILL_NVRTC",
                                                                       {"libnvrtc.so.13", "libnvrtc.so.12"}));

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/cuda/embedded_headers.hpp"

namespace rill::cuda {

namespace detail {

inline void check(nvrtc_api const& api, nvrtc_status result, char const* what) {
  if (result == nvrtc_status::success) return;
  throw error(result == nvrtc_status::out_of_memory ? code::resource_exhausted : code::internal,
              std::string(what) + " failed: " + api.error_text(result));
}

/// A program of NVRTC's, destroyed at the end of the scope.
class nvrtc_text {
 public:
  nvrtc_text(nvrtc_api const& api, std::string const& text) : api_(api) {
    std::vector<char const*> names, texts;
    for (auto const& each : embedded_headers) names.push_back(each.name), texts.push_back(each.text);
    check(api,
          api.create(&program_, text.c_str(), "rill.cu", static_cast<int>(names.size()), texts.data(), names.data()),
          "nvrtcCreateProgram");
  }
  nvrtc_text(nvrtc_text const&) = delete;
  nvrtc_text& operator=(nvrtc_text const&) = delete;
  ~nvrtc_text() { api_.destroy(&program_); }

  void compile(std::vector<std::string> const& options) const {
    std::vector<char const*> pointers;
    for (auto const& each : options) pointers.push_back(each.c_str());
    auto const result = api_.compile(program_, static_cast<int>(pointers.size()), pointers.data());
    if (result == nvrtc_status::invalid_option) throw error(code::internal, "NVRTC refuses an option: " + log());
    if (result == nvrtc_status::compilation) throw error(code::internal, "NVRTC refuses a kernel's text:\n" + log());
    check(api_, result, "nvrtcCompileProgram");
  }
  std::string code() const { return read(api_.code_size, api_.code); }
  std::string log() const { return read(api_.log_size, api_.log).c_str(); }  // without the zero at its end

 private:
  template <class Size, class Read> std::string read(Size const& size, Read const& bytes) const {
    std::size_t n = 0;
    check(api_, size(program_, &n), size.symbol);
    std::string all(n, '\0');
    check(api_, bytes(program_, all.data()), bytes.symbol);
    return all;
  }

  nvrtc_api const& api_;
  nvrtc_program program_ = nullptr;
};

}  // namespace detail

RILL_CUDA_INLINE nvrtc::nvrtc(std::vector<std::string> const& names)
    : library_("NVRTC, which compiles kernels,", names) {
  library_.fill(api_);
  int major = 0, minor = 0;
  detail::check(api_, api_.version(&major, &minor), "nvrtcVersion");
  version_ = 1000 * major + 10 * minor;
}

RILL_CUDA_INLINE int nvrtc::newest_for(int capability) const {
  int count = 0;
  detail::check(api_, api_.architecture_count(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> all(static_cast<std::size_t>(count));
  detail::check(api_, api_.architectures(all.data()), "nvrtcGetSupportedArchs");
  // Code for 8.0 runs on 8.6, not on 9.0; code for a chip with a processor of its own (Tegra) on no other.
  auto const is_tegra = [](int c) { return c == 53 || c == 62 || c == 72 || c == 87 || c == 101; };
  int newest = 0;
  for (int each : all)
    if (each == capability || (each < capability && each / 10 == capability / 10 && !is_tegra(each)))
      newest = std::max(newest, each);
  if (newest == 0)
    throw error(code::unavailable, "'" + library_.path() + "' compiles nothing for a GPU of compute capability " +
                                       std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
                                       ": it is too old for the GPU, or too new");
  return newest;
}

RILL_CUDA_INLINE nvrtc open_nvrtc(int capability, int driver_version, std::vector<std::string> const& names) {
  std::string why;
  for (auto const& name : names) try {
      nvrtc opened({name});
      if (opened.version() / 1000 > driver_version / 1000)
        throw error(code::unavailable, "'" + name + "' is of a newer CUDA than the driver, which is of CUDA " +
                                           std::to_string(driver_version / 1000));
      opened.newest_for(capability);
      return opened;
    } catch (error const& e) {
      why += (why.empty() ? "" : "; ") + e.message();
    }
  throw error(code::unavailable, why);
}

RILL_CUDA_INLINE std::vector<std::string> nvrtc::options(int capability) const {
  // Bits as on the processor: nothing is contracted, quotients and roots are rounded correctly, subnormal numbers stay.
  std::vector<std::string> all{"--std=c++20",
                               "--gpu-architecture=sm_" + std::to_string(capability),
                               "--device-as-default-execution-space",
                               "--device-int128",
                               "--fmad=false",
                               "--prec-div=true",
                               "--prec-sqrt=true",
                               "--ftz=false",
                               "--define-macro=__extension__=",
                               "--diag-suppress=1097"};  // NVRTC warns about always_inline, which it doesn't know
  if (version_ >= 12090) all.push_back("--no-cache");    // older ones have neither the cache nor the option
  return all;
}

RILL_CUDA_INLINE std::string nvrtc::identity() const {
  return "NVRTC " + std::to_string(version_) + ", " +
         library::build_of(reinterpret_cast<void const*>(api_.compile.call));
}

RILL_CUDA_INLINE std::string nvrtc::compile(std::string const& text, int capability) const {
  detail::nvrtc_text const program(api_, text);
  program.compile(options(capability));
  return program.code();
}

RILL_CUDA_INLINE std::string nvrtc::report(std::string const& text, int capability) const {
  auto all = options(capability);
  all.push_back("--ptxas-options=-v");
  detail::nvrtc_text const program(api_, text);
  program.compile(all);
  return program.log();
}

}  // namespace rill::cuda
#endif
