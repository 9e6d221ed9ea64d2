// The fuzzer's entry points without the fuzzer: runs `replay COUNT [FILE…]` on files (a corpus, or what a fuzzer
// found), and on COUNT mutations of the sample, always the same ones, for compilers that have no libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/share.hpp"

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace {

std::mt19937 random_number(1);

std::size_t below(std::size_t n) { return n == 0 ? 0 : random_number() % n; }

// What counts, sizes and enumerations are most often broken by.
constexpr std::uint64_t notable[] = {0,   1,   7,     8,         9,          127,       128,
                                     254, 255, 65535, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  if (size == 0) return 0;
  auto const at = below(size);
  switch (below(6)) {
    case 0:
      data[at] = static_cast<std::uint8_t>(data[at] ^ 1u << below(8));
      return size;
    case 1:
      data[at] = static_cast<std::uint8_t>(below(256));
      return size;
    case 2: {  // a word
      auto const word = notable[below(std::size(notable))];
      for (std::size_t i = 0, n = std::min<std::size_t>(below(2) ? 4 : 8, size - at); i < n; ++i)
        data[at + i] = static_cast<std::uint8_t>(word >> 8 * i);
      return size;
    }
    case 3: {  // some bytes go
      auto const n = std::min(size - at, below(9));
      std::copy(data + at + n, data + size, data + at);
      return size - n;
    }
    case 4: {  // some bytes come twice
      auto const n = std::min({size - at, most - size, below(33)});
      std::copy_backward(data + at, data + size, data + size + n);
      return size + n;
    }
    default: {  // some bytes come from elsewhere
      auto const from = below(size), n = std::min({size - at, size - from, below(33)});
      std::vector<std::uint8_t> const piece(data + from, data + from + n);
      std::copy(piece.begin(), piece.end(), data + at);
      return size;
    }
  }
}

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    std::string const bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size());
  }
  int const count = argc > 1 ? std::atoi(argv[1]) / static_cast<int>(rill::test::share()) : 0;
  std::vector<std::uint8_t> bytes(4096);
  std::size_t size = 0;
  for (int i = 0; i < count; ++i) {
    if (i % 8 == 0) size = 0;  // the sample again, and then eight mutations on top of each other
    size = LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), static_cast<unsigned>(i + 1));
    LLVMFuzzerTestOneInput(bytes.data(), size);
  }
  std::printf("%d files and %d mutations were refused, or read and written again\n", std::max(argc - 2, 0), count);
}
