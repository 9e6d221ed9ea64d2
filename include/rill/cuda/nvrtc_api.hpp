// rill's own declarations of the functions of NVRTC, CUDA's compiler, that it calls (like driver_api.hpp).
#pragma once
#include <cstddef>

#include "rill/cuda/driver_api.hpp"

namespace rill::cuda {

/// What calls of NVRTC return (nvrtcResult): the values that rill or its tests use.
enum class nvrtc_status : int { success = 0, out_of_memory = 1, invalid_option = 5, compilation = 6 };

struct nvrtc_program_object;
using nvrtc_program = nvrtc_program_object*;  ///< nvrtcProgram

/// The functions of NVRTC that rill calls.
struct nvrtc_api {
  entry<char const*(nvrtc_status)> error_text{"nvrtcGetErrorString"};
  entry<nvrtc_status(int* major, int* minor)> version{"nvrtcVersion"};
  entry<nvrtc_status(int*)> architecture_count{"nvrtcGetNumSupportedArchs"}, architectures{"nvrtcGetSupportedArchs"};
  entry<nvrtc_status(nvrtc_program*, char const* text, char const* name, int headers, char const* const* header_texts,
                     char const* const* header_names)>
      create{"nvrtcCreateProgram"};
  entry<nvrtc_status(nvrtc_program*)> destroy{"nvrtcDestroyProgram"};
  entry<nvrtc_status(nvrtc_program, int, char const* const* options)> compile{"nvrtcCompileProgram"};
  entry<nvrtc_status(nvrtc_program, std::size_t*)> log_size{"nvrtcGetProgramLogSize"}, code_size{"nvrtcGetCUBINSize"};
  entry<nvrtc_status(nvrtc_program, char*)> log{"nvrtcGetProgramLog"}, code{"nvrtcGetCUBIN"};

  /// Calls `f` with each entry.
  template <class F> void for_each(F const& f) {
    auto const every = [&](auto&... each) { (f(each), ...); };
    every(error_text, version, architecture_count, architectures);
    every(create, destroy, compile, log_size, code_size, log, code);
  }
};

}  // namespace rill::cuda
