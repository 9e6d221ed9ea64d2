// Tensors of a GPU that are shared with other libraries without a copy, through DLPack.
#pragma once
#include "rill/cuda/gpu_device.hpp"
#include "rill/tensor/dlpack.hpp"

namespace rill {

/// Exports a tensor that lies in a GPU's memory. What `consumer`, a CUstream, is given from now on comes after the
/// kernels that write the tensor; null is CUDA's default stream. What it was given before `deleter` is called comes
/// before the memory is used again. The stream and the tensor's device must live until then. Throws
/// error(invalid_argument) if the tensor lies elsewhere.
dlpack::managed_versioned* to_dlpack(tensor const& t, void* consumer);

/// Imports a tensor that lies in the memory of the GPU `on`, and takes ownership of the structure. Its producer must
/// have written it, or have made `on->stream_of_kernels()` wait for that, as Python's `x.__dlpack__(stream=…)` does.
/// `deleter` is called with the last reference. Throws error(unimplemented) for other devices, for types and versions
/// that rill doesn't support, for bools, whose bytes can't be checked there, and for elements that are read-only or not
/// in row-major order; the caller then still owns the structure.
tensor from_dlpack(dlpack::managed_versioned* m, std::shared_ptr<gpu_device> const& on);
/// The same for a tensor that is being written on the CUstream `producer`, for which kernels and copies will wait; null
/// is CUDA's default stream.
tensor from_dlpack(dlpack::managed_versioned* m, std::shared_ptr<gpu_device> const& on, void* producer);

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

/// An exported structure with the stream of the receiver.
struct loan_to_stream {
  dlpack::detail::loan<dlpack::managed_versioned> of;
  gpu_space& space;
  stream_handle consumer;

  void give_back() noexcept {
    try {
      space.order_kernels_after(consumer);  // before the memory is freed, in the order of the kernels
    } catch (...) {                         // the GPU is lost, or the stream is gone
    }
    delete this;
  }
};

inline void expect_importable(dlpack::managed_versioned const& m, gpu_device const& on, gpu_space const& space,
                              dtype element) {
  if (m.version.major != 1)
    throw error(code::unimplemented, "a DLPack structure has version " + std::to_string(m.version.major) + "." +
                                         std::to_string(m.version.minor) + "; rill reads versions 1.x");
  auto const& device = m.array.device;
  if (device.kind != dlpack_cuda || device.id != space.on().id())
    throw error(code::unimplemented, "a DLPack tensor lies on device type " + std::to_string(device.kind) +
                                         ", number " + std::to_string(device.id) + ", and '" + on.name() +
                                         "' is type 2, number " + std::to_string(space.on().id()));
  if ((m.flags & dlpack::read_only) != 0)
    throw error(code::unimplemented, "a DLPack tensor in a GPU's memory is read-only: copy it first");
  if (element == dtype::boolean)
    throw error(code::unimplemented,
                "a DLPack tensor of bools in a GPU's memory may have other bytes than 0 and 1: import it as uint8");
}

}  // namespace cuda::detail

RILL_CUDA_INLINE dlpack::managed_versioned* to_dlpack(tensor const& t, void* consumer) try {
  auto& space = cuda::detail::space_of(t);
  auto const stream = static_cast<cuda::stream_handle>(consumer);
  std::unique_ptr<cuda::detail::loan_to_stream> made(new cuda::detail::loan_to_stream{{}, space, stream});
  made->of.lent = t;
  made->of.shape = t.shape();
  auto& face = made->of.face;
  face.array.data = t.storage().data();
  face.array.device = {cuda::detail::dlpack_cuda, space.on().id()};
  face.array.rank = static_cast<std::int32_t>(t.rank());
  face.array.type = dlpack::detail::type_for(t.element());
  face.array.shape = made->of.shape.values.data();  // without strides: row-major order
  face.context = made.get();
  face.deleter = [](dlpack::managed_versioned* m) {
    static_cast<cuda::detail::loan_to_stream*>(m->context)->give_back();
  };
  space.order_after_kernels(stream);
  return &made.release()->of.face;
} catch (...) {
  rethrow_as_error();
}

RILL_CUDA_INLINE tensor from_dlpack(dlpack::managed_versioned* m, std::shared_ptr<gpu_device> const& on) try {
  expects(m != nullptr && on != nullptr, "from_dlpack needs a structure and a GPU, but got a null pointer");
  if (auto const why = on->absence()) throw error(why->kind(), why->message(), {}, on->name());
  auto const& a = m->array;
  auto const& space = static_cast<cuda::gpu_space const&>(*on->memory().space());
  auto const element = dlpack::detail::element_for(a.type);
  cuda::detail::expect_importable(*m, *on, space, element);
  auto const s = dlpack::detail::checked_shape(a);
  if (!dlpack::detail::is_row_major(a, s))
    throw error(code::unimplemented,
                "a DLPack tensor in a GPU's memory is not contiguous in row-major order: copy it first");
  if (elements(s) == 0) {
    tensor made(element, s, on->memory());
    if (m->deleter) m->deleter(m);
    return made;
  }
  expects(a.data != nullptr, "a DLPack tensor has elements, but its data pointer is null");
  auto* const data = static_cast<std::byte*>(a.data) + a.byte_offset;
  bool const aligned = std::bit_cast<std::uintptr_t>(data) % size_of(element) == 0;
  expects(aligned, "a DLPack tensor in a GPU's memory is not aligned to its elements");
  auto memory = std::make_unique<cuda::detail::imported_memory>(on, data);
  tensor made(element, s, *memory);
  memory.release()->own(m);
  return made;
} catch (...) {
  rethrow_as_error();
}

RILL_CUDA_INLINE tensor from_dlpack(dlpack::managed_versioned* m, std::shared_ptr<gpu_device> const& on,
                                    void* producer) try {
  auto made = from_dlpack(m, on);
  static_cast<cuda::gpu_space&>(*on->memory().space()).order_kernels_after(static_cast<cuda::stream_handle>(producer));
  return made;
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
#endif
