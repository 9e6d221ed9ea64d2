// The entry points of NVRTC that rill calls (nvrtc_api.hpp).
#include <cstring>
#include <exception>
#include <type_traits>

#include "compiler.hpp"
#include "environment.hpp"
#include "handles.hpp"
#include "image.hpp"
#include "rill/cuda/nvrtc_api.hpp"

namespace rill::emulated {
namespace {

using cuda::nvrtc_program;
using cuda::nvrtc_status;

/// What NVRTC returns and rill does not tell apart.
constexpr auto invalid_input = nvrtc_status{3}, invalid_program = nvrtc_status{4}, internal_error = nvrtc_status{11};
constexpr int architectures[] = {80, 90, 100};

struct program {
  program_text text;
  std::mutex mutex;
  std::string log, code;
};
handles<program, nvrtc_program>& programs() {
  static auto& made = *new handles<program, nvrtc_program>;
  return made;
}

struct nvrtc_failure {
  nvrtc_status why;
};
void expect_input(bool holds) {
  if (!holds) throw nvrtc_failure{invalid_input};
}

template <class F> nvrtc_status guarded(F const& f) noexcept {
  try {
    f();
    return nvrtc_status::success;
  } catch (nvrtc_failure const& failed) {
    return failed.why;
  } catch (failure const&) {
    return invalid_program;
  } catch (std::bad_alloc const&) {
    return nvrtc_status::out_of_memory;
  } catch (...) {
    return internal_error;
  }
}

template <class T> void put(T* to, T value) {
  expect_input(to != nullptr);
  *to = value;
}

/// A name that can be a file's in a folder of headers.
bool fits(std::string const& name) {
  return !name.starts_with('/') && ("/" + name + "/").find("/../") == std::string::npos;
}

void compile(program& of, std::vector<std::string> const& options) {
  of.log.clear();
  of.code.clear();
  compile_options read;
  try {
    read = read_options(options);
  } catch (bad_option const& bad) {
    of.log = "nvrtc: error: " + bad.why + "\n";
    throw nvrtc_failure{nvrtc_status::invalid_option};
  }
  try {
    auto const made = emulated::compile(of.text, read);
    of.log = made.log;
    if (!made.good) throw nvrtc_failure{nvrtc_status::compilation};
    if (read.real) of.code = write_image(read.architecture, made.objects);
  } catch (std::exception const& thrown) {
    of.log = std::string("nvrtc: error: ") + thrown.what() + "\n";
    throw;
  }
}

}  // namespace

unsigned long long live_programs() { return programs().size(); }

}  // namespace rill::emulated

using namespace rill::emulated;

extern "C" {

char const* nvrtcGetErrorString(nvrtc_status of) {
  switch (static_cast<int>(of)) {
    case 0:
      return "NVRTC_SUCCESS";
    case 1:
      return "NVRTC_ERROR_OUT_OF_MEMORY";
    case 3:
      return "NVRTC_ERROR_INVALID_INPUT";
    case 4:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case 5:
      return "NVRTC_ERROR_INVALID_OPTION";
    case 6:
      return "NVRTC_ERROR_COMPILATION";
    case 11:
      return "NVRTC_ERROR_INTERNAL_ERROR";
  }
  return "NVRTC_ERROR unknown";
}
nvrtc_status nvrtcVersion(int* major, int* minor) {
  return guarded([&] {
    auto const version = static_cast<int>(number_of_environment("RILL_EMULATED_NVRTC_VERSION", 13000));
    put(major, version / 1000), put(minor, version % 1000 / 10);
  });
}
nvrtc_status nvrtcGetNumSupportedArchs(int* count) {
  return guarded([&] { put(count, static_cast<int>(std::size(architectures))); });
}
nvrtc_status nvrtcGetSupportedArchs(int* to) {
  return guarded([&] {
    expect_input(to != nullptr);
    std::copy(std::begin(architectures), std::end(architectures), to);
  });
}
nvrtc_status nvrtcCreateProgram(nvrtc_program* to, char const* text, char const* name, int headers,
                                char const* const* header_texts, char const* const* header_names) {
  return guarded([&] {
    expect_input(to != nullptr && text != nullptr && headers >= 0);
    expect_input(headers == 0 || (header_texts != nullptr && header_names != nullptr));
    auto made = std::make_shared<program>();
    made->text.text = text;
    made->text.name = name != nullptr ? name : "default_program";
    for (int i = 0; i < headers; ++i) {
      expect_input(header_texts[i] != nullptr && header_names[i] != nullptr && fits(header_names[i]));
      made->text.headers.emplace_back(header_names[i], header_texts[i]);
    }
    *to = programs().add(std::move(made));
  });
}
nvrtc_status nvrtcDestroyProgram(nvrtc_program* of) {
  return guarded([&] {
    expect_input(of != nullptr);
    programs().take(*of);
    *of = nullptr;
  });
}
nvrtc_status nvrtcCompileProgram(nvrtc_program handle, int count, char const* const* options) {
  return guarded([&] {
    auto const of = programs().find(handle);
    expect_input(count == 0 || (count > 0 && options != nullptr));
    std::lock_guard const lock(of->mutex);
    compile(*of, {options, options + count});
  });
}
nvrtc_status nvrtcGetProgramLogSize(nvrtc_program handle, std::size_t* bytes) {
  return guarded([&] {
    auto const of = programs().find(handle);
    std::lock_guard const lock(of->mutex);
    put(bytes, of->log.size() + 1);
  });
}
nvrtc_status nvrtcGetProgramLog(nvrtc_program handle, char* to) {
  return guarded([&] {
    auto const of = programs().find(handle);
    expect_input(to != nullptr);
    std::lock_guard const lock(of->mutex);
    std::memcpy(to, of->log.c_str(), of->log.size() + 1);
  });
}
nvrtc_status nvrtcGetCUBINSize(nvrtc_program handle, std::size_t* bytes) {
  return guarded([&] {
    auto const of = programs().find(handle);
    std::lock_guard const lock(of->mutex);
    put(bytes, of->code.empty() ? 0 : of->code.size() + 1);
  });
}
nvrtc_status nvrtcGetCUBIN(nvrtc_program handle, char* to) {
  return guarded([&] {
    auto const of = programs().find(handle);
    expect_input(to != nullptr);
    std::lock_guard const lock(of->mutex);
    if (!of->code.empty()) std::memcpy(to, of->code.c_str(), of->code.size() + 1);
  });
}

}  // extern "C"

namespace {

template <class F, class Entry> constexpr bool is = std::is_same_v<F, typename Entry::signature>;
using api = rill::cuda::nvrtc_api;

static_assert(is<decltype(nvrtcGetErrorString), decltype(api::error_text)>);
static_assert(is<decltype(nvrtcVersion), decltype(api::version)>);
static_assert(is<decltype(nvrtcGetNumSupportedArchs), decltype(api::architecture_count)>);
static_assert(is<decltype(nvrtcGetSupportedArchs), decltype(api::architectures)>);
static_assert(is<decltype(nvrtcCreateProgram), decltype(api::create)>);
static_assert(is<decltype(nvrtcDestroyProgram), decltype(api::destroy)>);
static_assert(is<decltype(nvrtcCompileProgram), decltype(api::compile)>);
static_assert(is<decltype(nvrtcGetProgramLogSize), decltype(api::log_size)>);
static_assert(is<decltype(nvrtcGetProgramLog), decltype(api::log)>);
static_assert(is<decltype(nvrtcGetCUBINSize), decltype(api::code_size)>);
static_assert(is<decltype(nvrtcGetCUBIN), decltype(api::code)>);

}  // namespace
