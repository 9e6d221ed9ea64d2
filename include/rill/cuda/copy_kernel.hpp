// Operations that copy elements, on a GPU.
#pragma once
#include <cstddef>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `copy`, which copies elements of `bytes` bytes, at most 8, between places that lie at
/// regular distances along `axes` axes (copy_part of copy.cuh). Numbers are 64 bits wide if `wide`.
std::string copy_text(std::size_t bytes, std::size_t axes, bool wide);
/// Returns the text of a kernel `copy_in_tiles`, which copies in tiles (tiled_part of tiles.cuh): elements of at most
/// 16 bytes, with `axes` axes beside rows and columns.
std::string tiles_text(std::size_t bytes, std::size_t axes, bool wide);
/// Returns the text of a kernel `zeros`, which sets n bytes to 0.
std::string clear_text();

/// Returns the text of a kernel `fill`, which writes an element of `bytes` bytes, at most 8, n times.
std::string fill_text(std::size_t bytes);

/// Returns the kernel of an operation that has a copy_form.
kernel copy_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "rill/cuda/copy_form.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/text/tile_form.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string copy_text(std::size_t bytes, std::size_t axes, bool wide) {
  auto const word = word_in_text(bytes), count = counter_in_text(wide);
  return text_head_with_cstdint("copy.cuh") +
         kernel_in_text("copy(global<" + word + " const> from, global<" + word + "> to, " + count + " n, copied_part<" +
                            count + ", " + std::to_string(axes) + "> part)",
                        "copy_part(from, to, n, part);");
}
RILL_CUDA_INLINE std::string tiles_text(std::size_t bytes, std::size_t axes, bool wide) {
  auto const word = word_in_text(bytes), count = counter_in_text(wide);
  return text_head_with_cstdint("tiles.cuh") +
         kernel_in_text("copy_in_tiles(global<" + word + " const> from, global<" + word + "> to, " + count +
                            " n, tiled_part<" + count + ", " + std::to_string(axes) + "> part)",
                        "copy_tiles(from, to, n, part);", "(" + std::to_string(tile_threads) + ")");
}
RILL_CUDA_INLINE std::string clear_text() {
  return text_head("copy.cuh") +
         "extern \"C\" __global__ void zeros(global<unsigned char> to, unsigned long n) { clear(to, n); }\n";
}
RILL_CUDA_INLINE std::string fill_text(std::size_t bytes) {
  auto const word = word_in_text(bytes);
  return text_head_with_cstdint("copy.cuh") + "extern \"C\" __global__ void fill(global<" + word + "> to, long n, " +
         word + " with) { fill_elements(to, n, with); }\n";
}

namespace detail {

/// The axes along which elements lie side by side in the target (rows) and in the source (columns).
struct tile_axes {
  std::size_t rows, columns;
};
/// Returns the axes of a part's tiles; nullopt if tiles would gain nothing: elements lie side by side along the same
/// axis in both arrays, or are few.
inline std::optional<tile_axes> tile_axes_of(copied_part const& part) {
  constexpr std::int64_t least = 8;  // float32 fill the 32 bytes that a GPU reads at once
  auto const side_by_side = [&](lattice const& in) {
    auto const begin = in.strides.begin(), end = begin + static_cast<std::ptrdiff_t>(part.extents.size());
    return static_cast<std::size_t>(std::find(begin, end, 1) - begin);
  };
  tile_axes const axes{side_by_side(part.to), side_by_side(part.from)};
  auto const is_long = [&](std::size_t axis) { return axis < part.extents.size() && part.extents[axis] >= least; };
  return axes.rows != axes.columns && is_long(axes.rows) && is_long(axes.columns) ? std::optional(axes) : std::nullopt;
}

/// Returns a part for words of half an element's size.
inline copied_part of_halves(copied_part part) {
  for (auto* each : {&part.from, &part.to}) {
    each->start *= 2;
    for (auto& s : each->strides) s *= 2;
    each->strides[part.extents.size()] = 1;
  }
  part.extents.push_back(2);
  return simplified(std::move(part));
}

/// A copied_part that is compiled for a GPU.
class bound_copy {
 public:
  /// `bytes`: of an element.
  bound_copy(gpu_device const& on, copied_part const& whole, std::size_t bytes, std::int64_t from_size,
             std::int64_t to_size)
      : on_(on), input_(whole.input), output_(whole.output) {
    auto const size = std::max(from_size, to_size);
    auto const part = simplified(whole);
    if (auto const axes = tile_axes_of(part)) bind_tiles(part, *axes, bytes, size);
    else if (bytes == 16) bind(of_halves(part), 8, 2 * size);
    else bind(part, bytes, size);
  }

  void operator()(kernel_call const& call) const { (*this)(call.in(input_), call.out(output_)); }
  void operator()(void const* from, void* to) const {
    if (n_ == 0) return;
    void* parameters[] = {&from, &to, const_cast<std::int64_t*>(&n_), const_cast<std::byte*>(part_.data())};
    on_.launch(*run_, how_, parameters);
  }

 private:
  void bind(copied_part part, std::size_t bytes, std::int64_t size) {
    wide_ = size > INT32_MAX;
    if (part.extents.empty()) part.extents.push_back(1);
    for (auto e : part.extents) n_ *= e;
    how_ = on_.shape_for(static_cast<std::size_t>(n_));
    put(part.from.start);
    put(part.to.start);
    put_axes(part);
    run_ = on_.find(copy_text(bytes, part.extents.size(), wide_), "copy");
  }
  void bind_tiles(copied_part const& part, tile_axes axes, std::size_t bytes, std::int64_t size) {
    wide_ = size > INT32_MAX;
    auto const rows = part.extents[axes.rows], columns = part.extents[axes.columns];
    auto const others = without(part, axes);
    auto const tiles = [](std::int64_t extent) { return (extent + tile_side - 1) / tile_side; };
    n_ = tiles(rows) * tiles(columns);
    for (auto e : others.extents) n_ *= e;
    how_ = blocks_for(n_, 1, tile_threads);
    for (auto number :
         {part.from.start, part.to.start, rows, columns, part.from.strides[axes.rows], part.to.strides[axes.columns]})
      put(number);
    put_axes(others);
    run_ = on_.find(tiles_text(bytes, others.extents.size(), wide_), "copy_in_tiles");
  }
  // Returns the other axes, at least one.
  static copied_part without(copied_part const& part, tile_axes axes) {
    copied_part others;
    for (std::size_t i = 0; i < part.extents.size(); ++i) {
      if (i == axes.rows || i == axes.columns) continue;
      others.from.strides[others.extents.size()] = part.from.strides[i];
      others.to.strides[others.extents.size()] = part.to.strides[i];
      others.extents.push_back(part.extents[i]);
    }
    if (others.extents.empty()) others.extents.push_back(1);
    return others;
  }

  // Write members of copied_part and tiled_part of the text, templates of the numbers' type and of the axes' number.
  void put_axes(copied_part const& part) {
    for (auto e : part.extents) put(e);
    for (std::size_t i = 0; i < part.extents.size(); ++i) put(part.from.strides[i]);
    for (std::size_t i = 0; i < part.extents.size(); ++i) put(part.to.strides[i]);
  }
  void put(std::int64_t number) {
    auto const bytes = wide_ ? 8u : 4u;  // of a number with 64 bits the lower half comes first
    auto const at = part_.size();
    part_.resize(at + bytes);
    std::memcpy(part_.data() + at, &number, bytes);
  }

  gpu_device const& on_;
  std::shared_ptr<gpu_device::function const> run_;
  std::uint32_t input_, output_;
  std::int64_t n_ = 1;  // elements, or tiles
  gpu_device::launch_shape how_{};
  bool wide_ = false;
  std::vector<std::byte> part_;
};

/// Returns a copy of all elements of an array.
inline bound_copy copy_of(gpu_device const& on, type const& t) {
  auto const n = elements(t.shape());
  copied_part all{0, 0, {n}, {}, {}};
  all.from.strides[0] = all.to.strides[0] = 1;
  return bound_copy(on, all, size_of(t.element), n, n);
}

/// A kernel that sets n bytes to 0.
class bound_clear {
 public:
  bound_clear(gpu_device const& on, std::size_t bytes) : on_(on), bytes_(bytes), run_(on.find(clear_text(), "zeros")) {}
  void operator()(void* to) const {
    if (bytes_ == 0) return;
    void* parameters[] = {&to, const_cast<std::uint64_t*>(&bytes_)};
    on_.launch(*run_, on_.shape_for(bytes_ / 8), parameters);
  }

 private:
  gpu_device const& on_;
  std::uint64_t bytes_;
  std::shared_ptr<gpu_device::function const> run_;
};

/// A kernel that writes one element n times.
class bound_fill {
 public:
  /// `bytes`: of an element.
  bound_fill(gpu_device const& on, std::size_t bytes, std::int64_t n, std::array<std::byte, 16> const& with)
      : on_(&on), n_(n), with_(with), run_(on.find(fill_text(bytes), "fill")) {}
  void operator()(void* to) const {
    if (n_ > 0) launch(*on_, *run_, on_->shape_for(static_cast<std::size_t>(n_)), to, n_, with_);
  }

 private:
  gpu_device const* on_;
  std::int64_t n_;
  std::array<std::byte, 16> with_;
  std::shared_ptr<gpu_device::function const> run_;
};

}  // namespace detail

RILL_CUDA_INLINE kernel copy_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const form = find_copy_form(*r.at.op)(r);
  std::vector<detail::bound_copy> parts;
  for (auto const& part : form.parts) {
    auto const& x = r.inputs[part.input];
    parts.emplace_back(on, part, size_of(x.element), elements(x.shape()), elements(r.outputs[part.output].shape()));
  }
  if (!form.clears)
    return kernel([parts](kernel_call const& call) {
      for (auto const& part : parts) part(call);
    });
  detail::bound_clear const clear(on, r.outputs[0].bytes());
  return kernel([parts, clear](kernel_call const& call) {
    clear(call.out(0));
    for (auto const& part : parts) part(call);
  });
}

}  // namespace rill::cuda
#endif
