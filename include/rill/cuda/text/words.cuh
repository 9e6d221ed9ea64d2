// What kernels move and don't compute with: elements of 16 bytes, and numbers that a launch passes.
#pragma once

namespace rill::text {

/// An element of 16 bytes. It is aligned as words of 8.
struct two_words {
  unsigned long a, b;
};

/// Numbers that a launch passes.
template <int N> struct passed_numbers {
  long values[N];
};

}  // namespace rill::text
