// Tensors shared with other libraries without a copy, through DLPack (github.com/dmlc/dlpack, version 1.3).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "rill/tensor/tensor.hpp"

namespace rill {

/// DLPack's structures, with the layout of its own header: cast a pointer from one to the other.
namespace dlpack {

/// DLDevice; 1 is the host, 3 and 11 are host memory pinned for CUDA and ROCm.
struct device {
  std::int32_t kind = 1;
  std::int32_t id = 0;
};
/// DLDataType.
struct data_type {
  std::uint8_t code = 0;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
  friend bool operator==(data_type, data_type) = default;
};
/// DLTensor. Strides count elements; null strides mean row-major order without gaps.
struct array {
  void* data = nullptr;
  dlpack::device device;
  std::int32_t rank = 0;
  data_type type;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;
  std::uint64_t byte_offset = 0;
};
/// DLManagedTensor, the structure without a version.
struct managed {
  dlpack::array array;
  void* context = nullptr;
  void (*deleter)(managed*) = nullptr;
};
/// DLPackVersion.
struct version {
  std::uint32_t major = 1;
  std::uint32_t minor = 3;
};
inline constexpr std::uint64_t read_only = 1;  ///< DLPACK_FLAG_BITMASK_READ_ONLY
/// DLManagedTensorVersioned.
struct managed_versioned {
  dlpack::version version;
  void* context = nullptr;
  void (*deleter)(managed_versioned*) = nullptr;
  std::uint64_t flags = 0;
  dlpack::array array;
};

static_assert(sizeof(void*) != 8 || (sizeof(array) == 48 && sizeof(managed) == 64 && sizeof(managed_versioned) == 80));

namespace detail {

inline constexpr std::pair<dtype, data_type> types[] = {
    {dtype::boolean, {6, 8}},  {dtype::int8, {0, 8}},       {dtype::int16, {0, 16}},      {dtype::int32, {0, 32}},
    {dtype::int64, {0, 64}},   {dtype::uint8, {1, 8}},      {dtype::uint16, {1, 16}},     {dtype::uint32, {1, 32}},
    {dtype::uint64, {1, 64}},  {dtype::float16, {2, 16}},   {dtype::bfloat16, {4, 16}},   {dtype::float32, {2, 32}},
    {dtype::float64, {2, 64}}, {dtype::complex64, {5, 64}}, {dtype::complex128, {5, 128}}};

data_type type_for(dtype d);

dtype element_for(data_type t);

/// An exported structure with the data that it points to.
template <class Managed> struct loan {
  Managed face;
  tensor lent;
  extents shape, strides;
};

template <class Managed> Managed* lend(tensor const& t) {
  if (!t) throw error(code::failed_precondition, "to_dlpack needs a tensor, but got an empty handle");
  if (t.space())
    throw error(code::unimplemented, "to_dlpack lends the host's memory alone, and the tensor lies in that of '" +
                                         std::string(t.space()->name()) + "': copy it by t.to(rill::host)");
  auto made = std::make_unique<loan<Managed>>();
  made->lent = t;
  made->shape = made->strides = t.shape();
  std::int64_t step = 1;
  for (auto i = t.rank(); i-- > 0; step *= std::max<std::int64_t>(t.shape()[i], 1)) made->strides[i] = step;
  auto& a = made->face.array;
  a.data = made->lent.mutable_raw();
  a.rank = static_cast<std::int32_t>(t.rank());
  a.type = type_for(t.element());
  a.shape = made->shape.values.data();
  a.strides = made->strides.values.data();
  made->face.context = made.get();
  made->face.deleter = [](Managed* m) { delete static_cast<loan<Managed>*>(m->context); };
  return &made.release()->face;
}

/// Returns the extents of an array of another library, after checking them.
shape checked_shape(array const& a);

/// Whether the elements lie in row-major order without gaps. Strides of axes of extent 1 are ignored, because no step
/// is taken along them.
bool is_row_major(array const& a, shape const& s);

/// Throws error(invalid_argument) unless every offset that the strides give fits 64 bits.
void check_strides(array const& a, shape const& s);

/// Copies the elements into row-major order, whatever the strides; `from` points to the element at index 0.
tensor copy_row_major(array const& a, dtype element, shape const& s, std::byte const* from);

/// Whether elements of type bool contain bytes other than 0 and 1: DLPack takes every byte but 0 for true, but a C++
/// bool must be 0 or 1.
bool holds_other_bools(dtype element, std::byte const* p, std::int64_t n);
void normalise_bools(tensor& t);

void check_device(device d);

/// Calls the producer's deleter with the last reference.
template <class Managed> struct owner {
  Managed* held = nullptr;
  ~owner() {
    if (held != nullptr && held->deleter != nullptr) held->deleter(held);
  }
};

template <class Managed> tensor take(Managed* m, bool writable) {
  auto const& a = m->array;
  check_device(a.device);
  auto const element = element_for(a.type);
  auto const s = checked_shape(a);
  auto const n = elements(s);
  expects(n == 0 || a.data != nullptr, "a DLPack tensor has elements, but its data pointer is null");
  auto* const first = n == 0 ? nullptr : static_cast<std::byte*>(a.data) + a.byte_offset;
  auto keeper = std::make_unique<owner<Managed>>();
  auto const align = visit(element, []<class T>() { return alignof(T); });
  bool const aligned = reinterpret_cast<std::uintptr_t>(first) % align == 0;
  tensor t;
  if (writable && aligned && is_row_major(a, s) && !holds_other_bools(element, first, n)) {
    auto* const slot = keeper.get();
    t = tensor(element, s, buffer::adopt(first, static_cast<std::size_t>(n) * size_of(element), std::move(keeper)));
    slot->held = m;  // last, so that the caller still owns the structure after an error above
  } else {
    t = copy_row_major(a, element, s, first);
    if (element == dtype::boolean) normalise_bools(t);
    keeper->held = m;
  }
  return t;
}

}  // namespace detail
}  // namespace dlpack

/// Exports a tensor without copying its elements, which live until the receiver calls `deleter`. The receiver may write
/// to them, which changes all tensors that share them: export a `clone` to prevent that. Throws error(unimplemented)
/// for strings.
dlpack::managed_versioned* to_dlpack(tensor const& t);

/// The same as a structure without a version, for older libraries.
dlpack::managed* to_dlpack_unversioned(tensor const& t);

/// Imports a tensor and takes ownership of the structure. The elements are shared, and `deleter` is called with the
/// last reference. Elements that are not in row-major order, misaligned or read-only are copied, and `deleter` is
/// called at once. Throws error(unimplemented) for devices, types and versions that rill doesn't support; the caller
/// then still owns the structure.
tensor from_dlpack(dlpack::managed_versioned* m);

/// The same for a structure without a version. It can't say whether the elements are read-only, so they are taken to be
/// writable.
tensor from_dlpack(dlpack::managed* m);

#if RILL_RUNTIME

namespace dlpack::detail {

RILL_INLINE data_type type_for(dtype d) {
  for (auto const& [ours, theirs] : types)
    if (ours == d) return theirs;
  throw error(code::unimplemented, "DLPack has no strings: a tensor of strings can't be exported");
}

RILL_INLINE dtype element_for(data_type t) {
  for (auto const& [ours, theirs] : types)
    if (theirs == t) return ours;
  throw error(code::unimplemented, "a DLPack tensor of type code " + std::to_string(t.code) + " with " +
                                       std::to_string(t.bits) + " bits and " + std::to_string(t.lanes) +
                                       " lanes has none of rill's element types");
}

RILL_INLINE shape checked_shape(array const& a) {
  if (a.rank < 0 || a.rank > static_cast<std::int32_t>(max_rank))
    throw error(code::invalid_argument,
                "a DLPack tensor has rank " + std::to_string(a.rank) + "; rill's ranks are 0 to 8");
  expects(a.rank == 0 || a.shape != nullptr, "a DLPack tensor has a rank above 0, but its shape pointer is null");
  shape s;
  for (std::int32_t i = 0; i < a.rank; ++i) s.push_back(a.shape[i]);
  checked_product(elements(s), 16);
  return s;
}

RILL_INLINE bool is_row_major(array const& a, shape const& s) {
  if (a.strides == nullptr || elements(s) == 0) return true;
  std::int64_t step = 1;
  for (auto i = s.rank(); i-- > 0; step *= s[i])
    if (s[i] != 1 && a.strides[i] != step) return false;
  return true;
}

RILL_INLINE void check_strides(array const& a, shape const& s) {
  std::int64_t reach = 0;
  for (std::size_t i = 0; a.strides != nullptr && i < s.rank(); ++i) {
    if (s[i] <= 1) continue;
    expects(a.strides[i] > -INT64_MAX, "a stride of a DLPack tensor is larger than the address space");
    reach += checked_product(std::abs(a.strides[i]), s[i] - 1) / (INT64_MAX >> 12);
  }
  expects(reach == 0, "the strides of a DLPack tensor lead outside of the address space");
}

RILL_INLINE tensor copy_row_major(array const& a, dtype element, shape const& s, std::byte const* from) {
  check_strides(a, s);
  tensor t(element, s);
  auto const size = size_of(element);
  auto* to = static_cast<std::byte*>(t.mutable_raw());
  extents strides = s, index = s;
  std::int64_t step = 1;
  for (auto i = s.rank(); i-- > 0;) {
    strides[i] = a.strides ? a.strides[i] : step;
    step *= s[i];
    if (s[i] == 1) strides[i] = 0;
    index[i] = 0;
  }
  std::int64_t offset = 0;
  for (auto n = t.elements(); n-- > 0; to += size) {
    std::memcpy(to, from + offset * static_cast<std::int64_t>(size), size);
    for (auto i = s.rank(); i-- > 0;) {
      offset += strides[i];
      if (++index[i] < s[i]) break;
      offset -= strides[i] * s[i];
      index[i] = 0;
    }
  }
  return t;
}

RILL_INLINE bool holds_other_bools(dtype element, std::byte const* p, std::int64_t n) {
  return element == dtype::boolean && std::any_of(p, p + n, [](std::byte b) { return b > std::byte{1}; });
}

RILL_INLINE void normalise_bools(tensor& t) {
  auto* p = static_cast<std::byte*>(t.mutable_raw());
  std::replace_if(p, p + t.elements(), [](std::byte b) { return b != std::byte{0}; }, std::byte{1});
}

RILL_INLINE void check_device(device d) {
  if (d.kind == 1 || d.kind == 3 || d.kind == 11) return;
  throw error(code::unimplemented, "a DLPack tensor lies on device type " + std::to_string(d.kind) + ", number " +
                                       std::to_string(d.id) +
                                       ", but only host memory can be imported: copy it to the CPU first");
}

}  // namespace dlpack::detail

RILL_INLINE tensor from_dlpack(dlpack::managed_versioned* m) try {
  expects(m != nullptr, "from_dlpack needs a structure, but got a null pointer");
  if (m->version.major != 1)
    throw error(code::unimplemented, "a DLPack structure has version " + std::to_string(m->version.major) + "." +
                                         std::to_string(m->version.minor) + "; rill reads versions 1.x");
  return dlpack::detail::take(m, (m->flags & dlpack::read_only) == 0);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE dlpack::managed_versioned* to_dlpack(tensor const& t) try {
  return dlpack::detail::lend<dlpack::managed_versioned>(t);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE dlpack::managed* to_dlpack_unversioned(tensor const& t) try {
  return dlpack::detail::lend<dlpack::managed>(t);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE tensor from_dlpack(dlpack::managed* m) try {
  expects(m != nullptr, "from_dlpack needs a structure, but got a null pointer");
  return dlpack::detail::take(m, true);
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
