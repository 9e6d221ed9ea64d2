// Positions sorted by row on a GPU. Rows that are added at indices are added in this order, which is the host's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rill/cuda/gpu_device.hpp"

namespace rill::cuda {

/// Returns the text of the kernels `count`, `add_up` and `place` of a sort, with numbers of 64 bits if `wide`.
std::string sort_text(bool wide);

/// A stable sort of n positions by keys. It reads and writes the keys and positions once for each 8 bits of the largest
/// key.
class row_sort {
 public:
  row_sort(gpu_device const& on, std::int64_t n, std::int64_t largest_key, bool wide);

  /// Returns the bytes of scratch memory that it needs.
  std::size_t scratch() const;
  /// Returns where the keys are written before they are sorted.
  void* keys(void* memory) const;
  /// Sorts the keys.
  void operator()(void* memory) const;
  /// Return where keys and positions are afterwards.
  void* sorted_keys(void* memory) const;
  void* sorted_positions(void* memory) const;

 private:
  void* part(void* memory, unsigned i) const;

  gpu_device const* on_;
  std::int64_t n_;
  std::size_t bytes_;  // of a number
  unsigned passes_, blocks_;
  std::shared_ptr<gpu_device::function const> count_, add_up_, place_;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <bit>

#include "rill/cuda/launch.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string sort_text(bool wide) {
  std::string const count = wide ? "unsigned long" : "unsigned", from = "global<" + count + " const> ",
                    to = "global<" + count + "> ";
  return "#include \"rill/cuda/text/sort.cuh\"\n"
         "using namespace rill::text;\n"
         "extern \"C\" __global__ __launch_bounds__(256) void count(" +
         from + "keys, " + to + "counts, " + count +
         " n, int shift) {\n  count_digits(keys, counts, n, shift);\n}\n"
         "extern \"C\" __global__ __launch_bounds__(1024) void add_up(" +
         to + "counts, " + count +
         " n) { add_counts_up(counts, n); }\n"
         "extern \"C\" __global__ __launch_bounds__(256) void place(" +
         from + "keys, " + from + "positions, " + to + "to_keys, " + to + "to_positions, " + from + "before, " + count +
         " n, int shift) {\n  place_by_digit(keys, positions, to_keys, to_positions, before, n, shift);\n}\n";
}

namespace detail {

// As sort.cuh has them.
inline constexpr unsigned sort_threads = 256, sort_digits = 256;
inline constexpr std::int64_t sorted_by_block = 4096;

}  // namespace detail

RILL_CUDA_INLINE row_sort::row_sort(gpu_device const& on, std::int64_t n, std::int64_t largest_key, bool wide)
    : on_(&on),
      n_(n),
      bytes_(wide ? 8 : 4),
      passes_((static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(largest_key))) + 7) / 8),
      blocks_(static_cast<unsigned>((n + detail::sorted_by_block - 1) / detail::sorted_by_block)) {
  auto const text = sort_text(wide);
  count_ = on.find(text, "count");
  add_up_ = on.find(text, "add_up");
  place_ = on.find(text, "place");
}

// Keys and positions before and after a pass, and counts.
RILL_CUDA_INLINE void* row_sort::part(void* memory, unsigned i) const {
  return static_cast<std::byte*>(memory) + i * static_cast<std::size_t>(n_) * bytes_;
}
RILL_CUDA_INLINE std::size_t row_sort::scratch() const {
  return (4 * static_cast<std::size_t>(n_) + std::size_t{detail::sort_digits} * blocks_) * bytes_;
}
RILL_CUDA_INLINE void* row_sort::keys(void* memory) const { return part(memory, 0); }
RILL_CUDA_INLINE void* row_sort::sorted_keys(void* memory) const { return part(memory, passes_ % 2); }
RILL_CUDA_INLINE void* row_sort::sorted_positions(void* memory) const { return part(memory, 2 + passes_ % 2); }

RILL_CUDA_INLINE void row_sort::operator()(void* memory) const {
  auto const counts = part(memory, 4);
  std::int64_t const all = std::int64_t{detail::sort_digits} * blocks_;
  for (unsigned pass = 0; pass < passes_; ++pass) {
    auto const from = pass % 2, to = 1 - from;
    auto const shift = static_cast<std::int32_t>(8 * pass);
    void* const positions = pass == 0 ? nullptr : part(memory, 2 + from);
    launch(*on_, *count_, {blocks_, detail::sort_threads}, part(memory, from), counts, n_, shift);
    launch(*on_, *add_up_, {1, 1024}, counts, all);
    launch(*on_, *place_, {blocks_, detail::sort_threads}, part(memory, from), positions, part(memory, to),
           part(memory, 2 + to), counts, n_, shift);
  }
}

}  // namespace rill::cuda
#endif
