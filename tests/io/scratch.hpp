// What the tests of files share: a directory of their own, and damage.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "../examples/source_folder.hpp"
#include "base/sentence.hpp"

namespace rill {

/// An empty directory that is removed with all that is in it.
class scratch {
 public:
  scratch() {
    auto name = (std::filesystem::temp_directory_path() / "rill-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw error(code::internal, "no temporary directory could be made");
    path_ = name;
  }
  scratch(scratch const&) = delete;
  ~scratch() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(char const* name) const { return path_ / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

/// Calls `read` on every beginning of `bytes` and on `bytes` with each bit turned: success or rill::error, no other
/// end. Returns how many were refused.
template <class F> std::size_t damage(std::string const& bytes, F read) {
  std::size_t refused = 0;
  auto const attempt = [&](std::string const& damaged) {
    try {
      read(damaged);
    } catch (error const&) {
      ++refused;
    }
  };
  for (std::size_t n = 0; n < bytes.size(); ++n) attempt(bytes.substr(0, n));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    attempt(damaged);
  }
  return refused;
}

/// A file of tests/data.
inline std::filesystem::path data_file(std::string const& name) { return source_folder() / "tests/data" / name; }

}  // namespace rill
