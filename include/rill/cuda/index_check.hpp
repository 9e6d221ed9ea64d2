// Checks of indices on a GPU. An index out of range is the host's error, with the host's message.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rill/base/error.hpp"
#include "rill/cuda/gpu_device.hpp"
#include "rill/type/dtype.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `begin`, which resets the position that a check leaves to "no bad index".
std::string begin_check_text();
/// Returns the text of a kernel `check`, which finds the first of n indices that is not in [0, extent).
std::string range_check_text(dtype index);

/// The position of the first bad index, which kernels leave in a word of scratch memory.
class first_bad {
 public:
  explicit first_bad(gpu_device const& on);

  /// The bytes of scratch memory that it needs.
  static constexpr std::size_t scratch = sizeof(std::uint64_t);
  /// Launches the kernel that resets the word. Called before the kernels that check.
  void begin(void* memory) const;
  /// Waits for the kernels, and returns the position; nullopt if all indices are good.
  std::optional<std::int64_t> find(void* memory) const;

 private:
  gpu_device const* on_;
  std::shared_ptr<gpu_device::function const> begin_;
};

/// The bytes at the beginning of scratch memory that are for checks; memory behind them is as aligned as the whole.
inline constexpr std::size_t bytes_for_checks = 256;
/// Returns the scratch memory behind them.
inline std::byte* behind_checks(void* memory) { return static_cast<std::byte*>(memory) + bytes_for_checks; }

/// A kernel that checks that n indices lie in [0, extent).
class range_check {
 public:
  range_check(gpu_device const& on, dtype index, std::int64_t n, std::int64_t extent);
  void operator()(void const* which, void* memory) const;

 private:
  gpu_device const* on_;
  std::int64_t n_, extent_;
  std::shared_ptr<gpu_device::function const> run_;
};

/// Indices in the memory of a GPU, which the host reads one by one.
class index_on_gpu {
 public:
  index_on_gpu(gpu_device const& on, dtype index, void const* at) : on_(&on), index_(index), at_(at) {}
  std::int64_t operator[](std::int64_t i) const;

 private:
  gpu_device const* on_;
  dtype index_;
  void const* at_;
};

/// Returns the error's message for the bad index at a position: that of the host's kernel.
using bad_index_message = std::function<std::string(std::int64_t position, index_on_gpu const& all)>;
/// Returns the message for an index of a table with `rows` rows.
bad_index_message no_row_of(std::int64_t rows);
/// Returns the message for an index along an axis.
bad_index_message no_element_of(std::size_t axis, std::int64_t extent);

/// Indices that kernels check, and the error that a bad one is.
class checked_indices {
 public:
  checked_indices(gpu_device const& on, dtype index, bad_index_message message, code of_error = code::invalid_argument);

  void begin(void* memory) const { first_.begin(memory); }
  /// Waits for the kernels. Throws the error if they have found a bad index.
  void expect_good(void const* which, void* memory) const;

 private:
  gpu_device const* on_;
  dtype index_;
  first_bad first_;
  bad_index_message message_;
  code code_;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <utility>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/text_parts.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string begin_check_text() {
  return text_head("index_check.cuh") +
         "extern \"C\" __global__ void begin(global<bad_position> first) { begin_check(first); }\n";
}
RILL_CUDA_INLINE std::string range_check_text(dtype index) {
  return text_head_with_cstdint("index_check.cuh") +
         kernel_in_text(
             "check(global<" + name_in_text(index) + " const> which, long n, long extent, global<bad_position> first)",
             "check_range(which, n, extent, first);");
}

RILL_CUDA_INLINE first_bad::first_bad(gpu_device const& on) : on_(&on), begin_(on.find(begin_check_text(), "begin")) {}
RILL_CUDA_INLINE void first_bad::begin(void* memory) const { launch(*on_, *begin_, {1, 1}, memory); }
RILL_CUDA_INLINE std::optional<std::int64_t> first_bad::find(void* memory) const {
  std::uint64_t first = 0;
  on_->wait();
  on_->read(&first, memory, sizeof first);
  return first == UINT64_MAX ? std::nullopt : std::optional(static_cast<std::int64_t>(first));
}

RILL_CUDA_INLINE range_check::range_check(gpu_device const& on, dtype index, std::int64_t n, std::int64_t extent)
    : on_(&on), n_(n), extent_(extent), run_(on.find(range_check_text(index), "check")) {}
RILL_CUDA_INLINE void range_check::operator()(void const* which, void* memory) const {
  if (n_ > 0) launch(*on_, *run_, on_->shape_for(static_cast<std::size_t>(n_)), which, n_, extent_, memory);
}

RILL_CUDA_INLINE std::int64_t index_on_gpu::operator[](std::int64_t i) const {
  auto const read = [&]<class T>(T value) {
    on_->read(&value, static_cast<T const*>(at_) + i, sizeof value);
    return static_cast<std::int64_t>(value);
  };
  return index_ == dtype::int64 ? read(std::int64_t{}) : read(std::int32_t{});
}

RILL_CUDA_INLINE bad_index_message no_row_of(std::int64_t rows) {
  return [rows](std::int64_t i, index_on_gpu const& all) {
    return "index " + std::to_string(i) + " is " + std::to_string(all[i]) + ", and there are " + std::to_string(rows) +
           " rows";
  };
}
RILL_CUDA_INLINE bad_index_message no_element_of(std::size_t axis, std::int64_t extent) {
  return [axis, extent](std::int64_t i, index_on_gpu const& all) {
    return "index " + std::to_string(i) + " is " + std::to_string(all[i]) + ", and axis " + std::to_string(axis) +
           " has " + std::to_string(extent) + " elements";
  };
}

RILL_CUDA_INLINE checked_indices::checked_indices(gpu_device const& on, dtype index, bad_index_message message,
                                                  code of_error)
    : on_(&on), index_(index), first_(on), message_(std::move(message)), code_(of_error) {}
RILL_CUDA_INLINE void checked_indices::expect_good(void const* which, void* memory) const {
  if (auto const bad = first_.find(memory)) throw error(code_, message_(*bad, index_on_gpu(*on_, index_, which)));
}

}  // namespace rill::cuda
#endif
