// Bytes that a fuzzer makes up as a graph: they are refused, or are what the graph is written as again. With clang the
// target fuzz_codec is a libFuzzer program, and .ci/run runs it for a moment; replay.cpp tries mutations without one.
// For longer:
//   cmake --preset clang && cmake --build --preset clang --target fuzz_codec
//   build-clang/tests/fuzz_codec -max_total_time=600 -rss_limit_mb=1024 -malloc_limit_mb=16 -max_len=4096
#include <cstdlib>

#include "graph/samples.hpp"
#include "rill/graph/dot.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Starts from a graph that holds something of everything, or the magic bytes would never be found.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  static std::string const sample = [] {
    rill::graph g(42);
    rill::fill_sample(g);
    return rill::to_bytes(g);
  }();
  if (size < 16 || seed % 64 == 0) {
    size = std::min(sample.size(), most);
    std::copy_n(sample.begin(), size, data);
  }
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static auto const known = rill::sample_operations();
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  std::string again;
  try {
    auto const g = rill::graph_from_bytes(bytes, known);
    rill::dot(*g);
    again = rill::to_bytes(*g);
  } catch (rill::error const&) {
    return 0;
  }
  if (again != bytes) std::abort();
  return 0;
}
