// How errors come out of C libraries that know no exceptions: by longjmp, with their words kept.
#pragma once
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>

namespace rill::files {

/// Where a C library's error goes, and what it said.
struct jump {
  std::jmp_buf back;
  char words[256] = "";

  /// For the library's error function: keeps the words and leaves for the `attempt` that is under way.
  [[noreturn]] void leave(char const* what) noexcept {
    std::strncpy(words, what, sizeof words - 1);
    std::longjmp(back, 1);
  }
};

/// Calls `f`, and says whether it came to its end. `f` may call C functions that leave by `j`; it must have no object
/// whose destructor would then be passed over. It is never inlined, so that nothing of its caller lies in registers
/// that the jump forgets.
template <class F> [[gnu::noinline]] bool attempt(jump& j, F const& f) {
  if (setjmp(j.back) != 0) return false;
  f();
  return true;
}

/// Asks a callback whether work goes on, from within a C library that no exception may pass.
class interruption {
 public:
  explicit interruption(std::function<void()> const& check) : check_(check) {}

  /// Whether the callback threw, now or before.
  bool requested() noexcept {
    if (!check_ || thrown_) return thrown_ != nullptr;
    try {
      check_();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return thrown_ != nullptr;
  }
  /// Throws what the callback threw, if it did.
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::function<void()> const& check_;
  std::exception_ptr thrown_;
};

}  // namespace rill::files
