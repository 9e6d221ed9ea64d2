// The files whose names match a pattern.
#pragma once
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "rill/base/error.hpp"

namespace rill {

/// The paths that match a shell's pattern ("data/train-*.tfrecord", with *, ? and [a-z]), sorted by their bytes;
/// directories are left out. Throws error(not_found) if nothing matches, and error(failed_precondition) for a directory
/// that cannot be read: a file that is silently missing would be worse.
std::vector<std::filesystem::path> matching_files(std::string const& pattern);

#if RILL_RUNTIME

RILL_INLINE std::vector<std::filesystem::path> matching_files(std::string const& pattern) {
  ::glob_t found{};
  struct at_end {
    ::glob_t* g;
    ~at_end() { ::globfree(g); }
  } const release{&found};
  // Called for a directory that can't be read: what isn't there, or is a file, has just nothing that matches.
  auto const stop = [](char const*, int why) { return static_cast<int>(why != ENOENT && why != ENOTDIR); };
  auto const result = ::glob(pattern.c_str(), GLOB_NOSORT, stop, &found);
  if (result == GLOB_NOSPACE)
    throw error(code::resource_exhausted, "there is no memory to list what matches '" + pattern + "'");
  if (result == GLOB_ABORTED)
    throw error(code::failed_precondition, "a directory of the pattern '" + pattern + "' cannot be read");
  std::vector<std::filesystem::path> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::erase_if(files, [](auto const& path) { return std::filesystem::is_directory(path); });
  if (files.empty()) throw error(code::not_found, "no file matches '" + pattern + "'");
  std::sort(files.begin(), files.end(), [](auto const& a, auto const& b) { return a.native() < b.native(); });
  return files;
}

#endif

}  // namespace rill
