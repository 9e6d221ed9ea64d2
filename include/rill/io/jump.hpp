// Errors of C libraries, which can't throw: they leave by longjmp, and their messages are kept.
#pragma once
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>

namespace rill::files {

/// The target of a C library's error, and its message.
struct jump {
  std::jmp_buf back;
  char words[256] = "";

  /// Called from the library's error function: keeps the message and jumps to the current `attempt`.
  [[noreturn]] void leave(char const* what) noexcept {
    std::strncpy(words, what, sizeof words - 1);
    std::longjmp(back, 1);
  }
};

/// Calls `f` and returns whether it completed. `f` may call C functions that leave by `j`, and must not own objects,
/// because their destructors would be skipped. Never inlined, so that no variable of the caller is in a register that
/// the jump restores.
template <class F> [[gnu::noinline]] bool attempt(jump& j, F const& f) {
  if (setjmp(j.back) != 0) return false;
  f();
  return true;
}

/// Calls a callback that may end the work, from within a C library through which no exception may pass.
class interruption {
 public:
  explicit interruption(std::function<void()> const& check) : check_(check) {}

  /// Calls the callback; returns whether it threw, now or before.
  bool requested() noexcept {
    if (!check_ || thrown_) return thrown_ != nullptr;
    try {
      check_();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return thrown_ != nullptr;
  }
  /// Rethrows the callback's exception, if there is one.
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::function<void()> const& check_;
  std::exception_ptr thrown_;
};

}  // namespace rill::files
