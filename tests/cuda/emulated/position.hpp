// Positions of blocks and threads: as numbers, and as text.
#pragma once
#include <cstddef>
#include <string>

#include "text/interface.hpp"

namespace rill::emulated {

inline std::size_t count_of(extent e) { return std::size_t{e.x} * e.y * e.z; }
inline extent position(std::size_t i, extent in) {
  return {static_cast<unsigned>(i % in.x), static_cast<unsigned>(i / in.x % in.y),
          static_cast<unsigned>(i / in.x / in.y)};
}
inline std::string text_of(extent e) {
  return "(" + std::to_string(e.x) + ", " + std::to_string(e.y) + ", " + std::to_string(e.z) + ")";
}
inline std::string text_of(char const* kernel, kernel_thread const& now) {
  return std::string("kernel ") + kernel + ", block " + text_of(now.block) + ", thread " + text_of(now.thread);
}

}  // namespace rill::emulated
