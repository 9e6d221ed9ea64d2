// Copies and clears elements whose type is known only at run time.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>

#include "rill/type/dtype.hpp"

namespace rill {

/// Copies `n` elements that don't overlap: bytes, or strings.
inline void copy_elements(dtype d, void* to, void const* from, std::size_t n) {
  if (d == dtype::string) std::copy_n(static_cast<std::string const*>(from), n, static_cast<std::string*>(to));
  else if (n != 0) std::memcpy(to, from, n * size_of(d));
}

/// Writes `n` zeros, or empty strings.
inline void clear_elements(dtype d, void* to, std::size_t n) {
  if (d == dtype::string) std::fill_n(static_cast<std::string*>(to), n, std::string());
  else if (n != 0) std::memset(to, 0, n * size_of(d));
}

}  // namespace rill
