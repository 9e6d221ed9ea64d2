// Indices that a GPU checks: an index out of range is an error with the host's words.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/type/type.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `begin` that prepares the memory of a check.
std::string begin_check_text();
/// Returns the text of a kernel `check` that checks n indices of this type against an extent.
std::string range_check_text(dtype index);

/// A word of scratch memory in which kernels leave the position of the first bad index.
class first_bad {
 public:
  explicit first_bad(gpu_device const& on);

  /// The bytes of scratch memory that it needs.
  static constexpr std::size_t scratch = sizeof(std::uint64_t);
  /// Prepares the memory, before the kernels that check.
  void begin(void* memory) const;
  /// Waits for the kernels and returns the position; nothing if no index is bad.
  std::optional<std::int64_t> find(void* memory) const;

 private:
  gpu_device const* on_;
  std::shared_ptr<gpu_device::function const> begin_;
};

/// Checks that n indices lie in [0, extent).
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

/// Returns the words of the error for a bad index, as the host's kernel has them.
using refusal = std::function<std::string(std::int64_t position, index_on_gpu const& all)>;
/// Returns those for a row of a table.
refusal no_row_of(std::int64_t rows);
/// Returns those for an element along an axis.
refusal no_element_of(std::size_t axis, std::int64_t extent);

/// Indices that kernels check before they use them.
class checked_indices {
 public:
  checked_indices(gpu_device const& on, dtype index, refusal words);

  void begin(void* memory) const { first_.begin(memory); }
  /// Waits for the kernels. Throws error(invalid_argument) if they have found a bad index.
  void expect_good(void const* which, void* memory) const;

 private:
  gpu_device const* on_;
  dtype index_;
  first_bad first_;
  refusal words_;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <utility>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/map_text.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string begin_check_text() {
  return "#include \"rill/cuda/text/index_check.cuh\"\n"
         "using namespace rill::text;\n"
         "extern \"C\" __global__ void begin(global<bad_position> first) { begin_check(first); }\n";
}
RILL_CUDA_INLINE std::string range_check_text(dtype index) {
  return "#include <cstdint>\n"
         "#include \"rill/cuda/text/index_check.cuh\"\n"
         "using namespace rill::text;\n"
         "extern \"C\" __global__ void check(global<" +
         std::string(name_in_text(index)) +
         " const> which, long n, long extent, global<bad_position> first) {\n"
         "  check_range(which, n, extent, first);\n}\n";
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

RILL_CUDA_INLINE refusal no_row_of(std::int64_t rows) {
  return [rows](std::int64_t i, index_on_gpu const& all) {
    return "index " + std::to_string(i) + " is " + std::to_string(all[i]) + ", and there are " + std::to_string(rows) +
           " rows";
  };
}
RILL_CUDA_INLINE refusal no_element_of(std::size_t axis, std::int64_t extent) {
  return [axis, extent](std::int64_t i, index_on_gpu const& all) {
    return "index " + std::to_string(i) + " is " + std::to_string(all[i]) + ", and axis " + std::to_string(axis) +
           " has " + std::to_string(extent) + " elements";
  };
}

RILL_CUDA_INLINE checked_indices::checked_indices(gpu_device const& on, dtype index, refusal words)
    : on_(&on), index_(index), first_(on), words_(std::move(words)) {}
RILL_CUDA_INLINE void checked_indices::expect_good(void const* which, void* memory) const {
  if (auto const bad = first_.find(memory))
    throw error(code::invalid_argument, words_(*bad, index_on_gpu(*on_, index_, which)));
}

}  // namespace rill::cuda
#endif
