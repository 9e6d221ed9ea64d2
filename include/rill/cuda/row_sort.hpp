// A stable sort of positions by row on a GPU, for kernels that add rows in the host's order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rill/cuda/gpu_device.hpp"

namespace rill::cuda {

/// Returns the text of the kernels of a pass of the sort (sort.cuh): `count` counts the digits of each block's keys,
/// `add_up` sums those counts up, and `place` moves keys and positions. All of them are 64 bits wide if `wide`.
std::string sort_text(bool wide);

/// A stable sort of the positions [0, n) by their keys, which are from 0 to largest_key. It reads and writes keys and
/// positions once for each digit of the largest key.
class row_sort {
 public:
  row_sort(gpu_device const& on, std::int64_t n, std::int64_t largest_key, bool wide);

  /// Returns the bytes of scratch memory that it needs.
  std::size_t scratch() const;
  /// Returns where a caller writes the n keys before it sorts them.
  void* keys(void* memory) const;
  /// Launches the kernels of the sort. Scratch memory has scratch() bytes.
  void operator()(void* memory) const;
  /// Return where the sorted keys and their positions are afterwards. If largest_key is 0, positions are not written.
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
#include "rill/cuda/text/sort_form.hpp"
#include "rill/cuda/text_parts.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string sort_text(bool wide) {
  auto const count = counter_in_text(wide), from = "global<" + count + " const> ", to = "global<" + count + "> ";
  auto const bounds = "(" + std::to_string(sort_threads) + ")";
  return text_head("sort.cuh") +
         kernel_in_text("count(" + from + "keys, " + to + "counts, " + count + " n, int shift)",
                        "count_digits(keys, counts, n, shift);", bounds) +
         "extern \"C\" __global__ __launch_bounds__(" + std::to_string(sort_sum_threads) + ") void add_up(" + to +
         "counts, " + count + " n) { add_counts_up(counts, n); }\n" +
         kernel_in_text("place(" + from + "keys, " + from + "positions, " + to + "to_keys, " + to + "to_positions, " +
                            from + "before, " + count + " n, int shift)",
                        "place_by_digit(keys, positions, to_keys, to_positions, before, n, shift);", bounds);
}

RILL_CUDA_INLINE row_sort::row_sort(gpu_device const& on, std::int64_t n, std::int64_t largest_key, bool wide)
    : on_(&on),
      n_(n),
      bytes_(wide ? 8 : 4),
      passes_((static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(largest_key))) + sort_digit_bits - 1) /
              sort_digit_bits),
      blocks_(static_cast<unsigned>((n + sorted_by_block - 1) / sorted_by_block)) {
  auto const text = sort_text(wide);
  count_ = on.find(text, "count");
  add_up_ = on.find(text, "add_up");
  place_ = on.find(text, "place");
}

// Scratch memory has keys twice, positions twice, and counts: a pass reads one half and writes the other.
RILL_CUDA_INLINE void* row_sort::part(void* memory, unsigned i) const {
  return static_cast<std::byte*>(memory) + i * static_cast<std::size_t>(n_) * bytes_;
}
RILL_CUDA_INLINE std::size_t row_sort::scratch() const {
  return (4 * static_cast<std::size_t>(n_) + static_cast<std::size_t>(sort_digits) * blocks_) * bytes_;
}
RILL_CUDA_INLINE void* row_sort::keys(void* memory) const { return part(memory, 0); }
RILL_CUDA_INLINE void* row_sort::sorted_keys(void* memory) const { return part(memory, passes_ % 2); }
RILL_CUDA_INLINE void* row_sort::sorted_positions(void* memory) const { return part(memory, 2 + passes_ % 2); }

RILL_CUDA_INLINE void row_sort::operator()(void* memory) const {
  auto const counts = part(memory, 4);
  std::int64_t const all = std::int64_t{sort_digits} * blocks_;
  for (unsigned pass = 0; pass < passes_; ++pass) {
    auto const from = pass % 2, to = 1 - from;
    auto const shift = static_cast<std::int32_t>(sort_digit_bits * pass);
    void* const positions = pass == 0 ? nullptr : part(memory, 2 + from);
    launch(*on_, *count_, {blocks_, sort_threads}, part(memory, from), counts, n_, shift);
    launch(*on_, *add_up_, {1, sort_sum_threads}, counts, all);
    launch(*on_, *place_, {blocks_, sort_threads}, part(memory, from), positions, part(memory, to),
           part(memory, 2 + to), counts, n_, shift);
  }
}

}  // namespace rill::cuda
#endif
