// The CUDA driver, with errors as exceptions.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/cuda/driver_api.hpp"
#include "rill/cuda/library.hpp"

namespace rill::cuda {

/// The driver, opened and initialised.
class driver {
 public:
  /// Opens the first of these libraries that can be opened. Throws error(unavailable) with one sentence if none can, if
  /// it is older than CUDA 12, or if cuInit fails, for instance because there is no GPU.
  explicit driver(std::vector<std::string> const& names = library_names("RILL_CUDA_DRIVER", {"libcuda.so.1"}));

  driver_api const& call() const noexcept { return api_; }
  /// Returns the version, 1000 times the major number plus 10 times the minor one.
  int version() const noexcept { return version_; }
  /// Throws if a call did not succeed: error(resource_exhausted) for lack of memory, else error(unavailable).
  void check(status result, std::string_view what) const {
    if (result != status::success) [[unlikely]]
      throw error(kind_of(result), refusal(result, what));
  }
  /// Returns what went wrong, as a sentence: "cuMemAlloc failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  std::string refusal(status result, std::string_view what) const;
  /// Calls an entry, and checks what it returned.
  template <class F, class... A> void operator()(entry<F> const& f, A... arguments) const {
    check(f(arguments...), f.symbol);
  }

 private:
  static error_kind kind_of(status result) noexcept {
    switch (result) {
      case status::out_of_memory:
        return code::resource_exhausted;
      case status::ecc_uncorrectable:
      case status::launch_timeout:
      case status::launch_failed:
      case status::unknown:
        return {code::unavailable, cause::lost};
      default:
        return code::unavailable;
    }
  }

  library library_;
  driver_api api_;
  int version_ = 0;
};

/// Makes a context current on this thread, and restores the previous one at the end of the scope.
class context_scope {
 public:
  context_scope(driver const& d, context c) : driver_(d) { d(d.call().push_context, c); }
  context_scope(context_scope const&) = delete;
  context_scope& operator=(context_scope const&) = delete;
  ~context_scope() {
    context popped;
    driver_.call().pop_context(&popped);
  }

 private:
  driver const& driver_;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
namespace rill::cuda {

RILL_CUDA_INLINE driver::driver(std::vector<std::string> const& names) : library_("the CUDA driver", names) {
  library_.fill(api_);
  (*this)(api_.version, &version_);
  if (version_ < 12000)
    throw error(code::unavailable, "the CUDA driver is of CUDA " + std::to_string(version_ / 1000) + "." +
                                       std::to_string(version_ % 1000 / 10) + "; rill needs one of CUDA 12 or newer");
  (*this)(api_.init, 0u);
}

RILL_CUDA_INLINE std::string driver::refusal(status result, std::string_view what) const {
  char const *name = nullptr, *text = nullptr;
  api_.error_name(result, &name);
  api_.error_text(result, &text);
  return std::string(what) + " failed: " + (text ? text : "unknown error") + " (" +
         (name ? name : std::to_string(static_cast<int>(result)).c_str()) + ")";
}

}  // namespace rill::cuda
#endif
