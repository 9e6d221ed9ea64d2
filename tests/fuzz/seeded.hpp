// What the fuzz targets share: each has good files to start from, and says what must hold of bytes that are not
// refused. With clang each target is a libFuzzer program, and .ci/run runs each for a moment; replay.cpp tries
// mutations without one. For longer:
//   cmake --preset clang && cmake --build --preset clang --target fuzz
//   build-clang/tests/fuzz/images -max_total_time=600 -rss_limit_mb=1024 -malloc_limit_mb=16 -max_len=4096
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../examples/source_folder.hpp"
#include "rill/base/error.hpp"
#include "rill/io/file.hpp"

namespace rill::fuzz {

/// Good files, from which mutations start: nothing else would ever be more than refused.
std::vector<std::string> seeds();

/// Reads bytes as a file, and requires what must hold of what is read.
void read(std::string_view bytes);

/// Ends the program, which a fuzzer reports, unless `holds`.
inline void require(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s\n", what);
  std::abort();
}

/// What `f` returns, or nothing if it refuses. Any other end is a failure, and so is an error of what is no reading.
template <class F> auto unless_refused(F f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (error const&) {
    return std::nullopt;
  }
}

/// The files of tests/data whose names end so, in the order of their names.
inline std::vector<std::string> files_of_data(std::string_view ending) {
  std::vector<std::filesystem::path> paths;
  for (auto const& each : std::filesystem::directory_iterator(source_folder() / "tests/data"))
    if (each.path().native().ends_with(ending)) paths.push_back(each.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (auto const& path : paths) files.push_back(read_file(path));
  require(!files.empty(), "there are files to start from");
  return files;
}

}  // namespace rill::fuzz

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  static auto const seeds = rill::fuzz::seeds();
  if (size == 0 || seed % 64 == 0) {
    auto const& file = seeds[seed / 64 % seeds.size()];
    size = std::min(file.size(), most);
    std::copy_n(file.begin(), size, data);
  }
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  rill::fuzz::read({reinterpret_cast<char const*>(data), size});
  return 0;
}
