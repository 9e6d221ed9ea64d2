// How errors come out of C libraries that know no exceptions: by longjmp, with their words kept.
#pragma once
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <string>

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

}  // namespace rill::files
