// The files whose names match a pattern.
#pragma once
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "rill/base/c_locale.hpp"
#include "rill/base/error.hpp"

namespace rill {

/// Returns the paths that match a shell pattern ("data/train-*.tfrecord", with *, ? and [a-z]), sorted by their bytes,
/// without directories. Throws error(not_found) if there are none, and error(failed_precondition) for an unreadable
/// directory, because silently missing files would be worse.
std::vector<std::filesystem::path> matching_files(std::string const& pattern);

#if RILL_RUNTIME

RILL_INLINE std::vector<std::filesystem::path> matching_files(std::string const& pattern) try {
  ::glob_t found{};
  struct at_end {
    ::glob_t* g;
    ~at_end() { ::globfree(g); }
  } const release{&found};
  // Called for a directory that can't be read; a missing directory, or a file in its place, just has no matches.
  auto const stop = [](char const*, int why) { return static_cast<int>(why != ENOENT && why != ENOTDIR); };
  c_locale const bytes;  // what [a-z] is depends on the language
  auto const result = ::glob(pattern.c_str(), GLOB_NOSORT, stop, &found);
  if (result == GLOB_NOSPACE)
    throw error(code::resource_exhausted, "no memory to list the files that match '" + pattern + "'");
  if (result == GLOB_ABORTED)
    throw error(code::failed_precondition, "a directory of the pattern '" + pattern + "' can't be read");
  std::vector<std::filesystem::path> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::erase_if(files, [](auto const& path) { return std::filesystem::is_directory(path); });
  if (files.empty()) throw error(code::not_found, "no file matches '" + pattern + "'");
  std::sort(files.begin(), files.end(), [](auto const& a, auto const& b) { return a.native() < b.native(); });
  return files;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
