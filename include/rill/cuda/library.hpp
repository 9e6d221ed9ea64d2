// Shared libraries that are opened while a program runs, so that it starts where they are not.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/cuda/driver_api.hpp"

namespace rill::cuda {

/// A shared library. It is never unloaded: the driver has threads of its own.
class library {
 public:
  /// Opens the first of these libraries that can be opened. Throws error(unavailable) with a sentence that begins with
  /// `what`.
  library(std::string const& what, std::vector<std::string> const& names);

  std::string const& path() const noexcept { return path_; }
  /// Returns the address of a symbol; null: it has none of that name.
  void* find(char const* symbol) const noexcept;
  /// Returns what tells the library with the code `at` from other builds of it: its size, and when it was
  /// changed. Empty: not known.
  static std::string build_of(void const* at);
  /// Finds all entries of a table. Throws error(unavailable) if one is missing: the library is too old.
  template <class Api> void fill(Api& api) const {
    api.for_each([&]<class F>(entry<F>& each) {
      each.call = reinterpret_cast<decltype(each.call)>(find(each.symbol));
      if (each.call == nullptr) refuse(each.symbol);
    });
  }

 private:
  [[noreturn]] void refuse(char const* symbol) const;

  std::shared_ptr<void> handle_;
  std::string path_;
};

/// Returns the names of a library: the one in an environment variable, if it is set (for a library in an unusual
/// place), or else `usual`.
std::vector<std::string> library_names(char const* variable, std::initializer_list<char const*> usual);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>

namespace rill::cuda {

RILL_CUDA_INLINE library::library(std::string const& what, std::vector<std::string> const& names) {
  std::string why;
  for (auto const& name : names) {
    if (void* const opened = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      handle_ = std::shared_ptr<void>(opened, [](void* p) { ::dlclose(p); });
      path_ = name;
      return;
    }
    char const* const said = ::dlerror();
    why += (why.empty() ? "" : "; ") + std::string(said ? said : name.c_str());
  }
  throw error(code::unavailable, what + " can't be opened: " + why);
}

RILL_CUDA_INLINE void* library::find(char const* symbol) const noexcept { return ::dlsym(handle_.get(), symbol); }

RILL_CUDA_INLINE std::string library::build_of(void const* at) {
  ::Dl_info found{};
  struct ::stat about{};
  if (::dladdr(at, &found) == 0 || ::stat(found.dli_fname, &about) != 0) return {};
  return std::to_string(about.st_size) + " bytes, changed at " + std::to_string(about.st_mtim.tv_sec) + "." +
         std::to_string(about.st_mtim.tv_nsec);
}

RILL_CUDA_INLINE void library::refuse(char const* symbol) const {
  throw error(code::unavailable,
              "'" + path_ + "' has no function " + symbol + ": it is too old; rill needs CUDA 12 or newer");
}

RILL_CUDA_INLINE std::vector<std::string> library_names(char const* variable,
                                                        std::initializer_list<char const*> usual) {
  if (char const* const set = std::getenv(variable); set && *set) return {set};
  return {usual.begin(), usual.end()};
}

}  // namespace rill::cuda
#endif
