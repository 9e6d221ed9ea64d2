// Tensors of a GPU that are shared with other libraries without a copy, through DLPack.
#pragma once
#include "rill/cuda/gpu_device.hpp"
#include "rill/tensor/dlpack.hpp"

namespace rill {

/// Exports a tensor that lies in a GPU's memory. What `consumer`, a CUstream, is given from now on comes after the
/// kernels that write the tensor; null is CUDA's default stream. The tensor's device must live until the receiver calls
/// `deleter`. Throws error(invalid_argument) if the tensor lies elsewhere.
dlpack::managed_versioned* to_dlpack(tensor const& t, void* consumer);

/// Imports a tensor that lies in the memory of the GPU `on`, and takes ownership of the structure. Steps may read the
/// tensor at once if its producer wrote it on, or made it wait for, `on.stream_of_kernels()`, as Python's
/// `x.__dlpack__(stream=…)` does; or if `producer`, the CUstream on which it is written, is given. `deleter` is called
/// with the last reference. Throws error(unimplemented) for other devices, for types and versions that rill doesn't
/// support, and if the elements are not in row-major order; the caller then still owns the structure.
tensor from_dlpack(dlpack::managed_versioned* m, std::shared_ptr<gpu_device> const& on, void* producer = nullptr);

}  // namespace rill

#if RILL_CUDA_RUNTIME
#include <atomic>
#include <bit>
#include <memory>
#include <string>

namespace rill {

namespace cuda::detail {

inline constexpr std::int32_t dlpack_cuda = 2;  // kDLCUDA

/// Memory of another library as that of a tensor: its only buffer is the one that was imported. What is asked for
/// after that, for a copy of the tensor, comes from the GPU's own memory.
class imported_memory final : public allocator {
 public:
  imported_memory(std::shared_ptr<gpu_device> on, void* data)
      : allocator(on->memory().space()), on_(std::move(on)), data_(data) {}

  /// Calls the structure's deleter with the last buffer.
  void own(dlpack::managed_versioned* m) noexcept { held_ = m; }

 private:
  void* acquire(std::size_t bytes) noexcept override {
    ++buffers_;
    if (!given_.exchange(true)) return data_;
    try {
      return on_->memory().allocate(bytes);
    } catch (...) {
      --buffers_;
      return nullptr;
    }
  }
  void release(void* p, std::size_t bytes) noexcept override {
    if (p != data_) on_->memory().deallocate(p, bytes);
    else {
      static_cast<gpu_space&>(*space()).wait_for_kernels();  // another library may write there next
      if (held_ && held_->deleter) held_->deleter(held_);
    }
    if (--buffers_ == 0) delete this;
  }
  std::string refusal(std::size_t bytes) const override {
    return "no room for a buffer of " + std::to_string(bytes) + " bytes beside an imported tensor in the memory of '" +
           std::string(space()->name()) + "'";
  }

  std::shared_ptr<gpu_device> on_;
  void* data_;
  std::atomic<bool> given_{false};
  std::atomic<int> buffers_{0};
  dlpack::managed_versioned* held_ = nullptr;
};

/// The space of a tensor in a GPU's memory. Throws error(invalid_argument) if it lies elsewhere.
inline gpu_space& space_of(tensor const& t) {
  auto* const space = t ? dynamic_cast<gpu_space*>(t.space()) : nullptr;
  if (space) return *space;
  throw error(code::invalid_argument,
              "to_dlpack with a stream needs a tensor in a GPU's memory, and this one lies in " +
                  (t.space() ? "that of '" + std::string(t.space()->name()) + "'"
                             : std::string("the host's: to_dlpack(t) exports it")));
}

}  // namespace cuda::detail

RILL_CUDA_INLINE dlpack::managed_versioned* to_dlpack(tensor const& t, void* consumer) try {
  auto& space = cuda::detail::space_of(t);
  auto made = std::make_unique<dlpack::detail::loan<dlpack::managed_versioned>>();
  made->lent = t;
  made->shape = t.shape();
  auto& a = made->face.array;
  a.data = t.storage().data();
  a.device = {cuda::detail::dlpack_cuda, space.on().id()};
  a.rank = static_cast<std::int32_t>(t.rank());
  a.type = dlpack::detail::type_for(t.element());
  a.shape = made->shape.values.data();  // without strides: row-major order
  made->face.context = made.get();
  made->face.deleter = [](dlpack::managed_versioned* m) {
    delete static_cast<dlpack::detail::loan<dlpack::managed_versioned>*>(m->context);
  };
  space.order_after_kernels(static_cast<cuda::stream_handle>(consumer));
  return &made.release()->face;
} catch (...) {
  rethrow_as_error();
}

RILL_CUDA_INLINE tensor from_dlpack(dlpack::managed_versioned* m, std::shared_ptr<gpu_device> const& on,
                                    void* producer) try {
  expects(m != nullptr && on != nullptr, "from_dlpack needs a structure and a GPU, but got a null pointer");
  if (m->version.major != 1)
    throw error(code::unimplemented, "a DLPack structure has version " + std::to_string(m->version.major) + "." +
                                         std::to_string(m->version.minor) + "; rill reads versions 1.x");
  auto const& a = m->array;
  auto& space = static_cast<cuda::gpu_space&>(*on->memory().space());
  if (a.device.kind != cuda::detail::dlpack_cuda || a.device.id != space.on().id())
    throw error(code::unimplemented, "a DLPack tensor lies on device type " + std::to_string(a.device.kind) +
                                         ", number " + std::to_string(a.device.id) + ", and '" + on->name() +
                                         "' is type 2, number " + std::to_string(space.on().id()));
  auto const element = dlpack::detail::element_for(a.type);
  auto const s = dlpack::detail::checked_shape(a);
  if (!dlpack::detail::is_row_major(a, s))
    throw error(code::unimplemented,
                "a DLPack tensor in a GPU's memory is not contiguous in row-major order: copy it first");
  auto const n = elements(s);
  expects(n == 0 || a.data != nullptr, "a DLPack tensor has elements, but its data pointer is null");
  auto* const data = n == 0 ? nullptr : static_cast<std::byte*>(a.data) + a.byte_offset;
  bool const aligned = std::bit_cast<std::uintptr_t>(data) % size_of(element) == 0;
  expects(aligned, "a DLPack tensor in a GPU's memory is not aligned to its elements");
  if (producer) space.order_kernels_after(static_cast<cuda::stream_handle>(producer));
  auto memory = std::make_unique<cuda::detail::imported_memory>(on, data);
  tensor made(element, s, *memory);
  memory.release()->own(m);
  return made;
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
#endif
