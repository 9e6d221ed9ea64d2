// Where the sources of rill are: programs and tests find their files there.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "rill/base/error.hpp"

namespace rill {

/// Returns the folder of rill's sources: RILL_SOURCE_DIR in the environment, or else the nearest folder above the
/// program, or above the working directory, that has rill's headers. Not by __FILE__, which is a relative path in
/// objects that come from a compiler cache. Throws error(not_found).
inline std::filesystem::path source_folder() {
  namespace fs = std::filesystem;
  if (char const* const named = std::getenv("RILL_SOURCE_DIR")) return named;
  std::error_code ignored;
  for (auto const& start : {fs::read_symlink("/proc/self/exe", ignored).parent_path(), fs::current_path(ignored)})
    for (auto at = start; !at.empty(); at = at.parent_path()) {
      if (fs::exists(at / "include/rill/version.hpp", ignored)) return at;
      if (at == at.parent_path()) break;
    }
  throw error(code::not_found,
              "the sources of rill are neither above the program nor above the working directory: set "
              "RILL_SOURCE_DIR to their folder");
}

}  // namespace rill
