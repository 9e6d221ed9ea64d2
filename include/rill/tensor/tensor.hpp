// A tensor: element type, extents and a reference to a buffer, in row-major order without gaps.
#pragma once
#include <array>
#include <cstring>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/tensor/buffer.hpp"
#include "rill/tensor/no_operators.hpp"
#include "rill/type/type.hpp"

namespace rill {

/// A dense array. Copies share the elements; `clone` copies them.
class tensor : detail::no_operators {
 public:
  /// An empty handle; `if (t)` is false.
  tensor() = default;

  /// Allocates uninitialised elements (strings are empty); throws error(resource_exhausted).
  tensor(dtype element, rill::shape const& extents, allocator& from = host_allocator());

  /// A scalar.
  template <rill::element T> tensor(T const& value) : tensor(dtype_of<T>, rill::shape{}) {
    only_errors([&] { *mutable_data<T>() = value; });
  }

  /// Refers to the elements in a buffer from byte `offset` on. Throws error(invalid_argument) if the elements don't lie
  /// within it, are misaligned, or if only one of tensor and buffer holds strings.
  tensor(dtype element, rill::shape const& extents, buffer share, std::size_t offset = 0)
      : element_(element), shape_(extents), buffer_(std::move(share)) {
    auto const need =
        static_cast<std::size_t>(checked_product(rill::elements(extents), static_cast<std::int64_t>(size_of(element))));
    if (offset > buffer_.bytes() || need > buffer_.bytes() - offset) refuse_bytes(offset, need);
    if (need > 0) check_share(offset);
    data_ = static_cast<std::byte*>(buffer_.data()) + offset;
  }

  /// Copies `values` into a tensor with the given extents; throws error(invalid_argument) if their numbers differ.
  template <rill::element T> static tensor copy(std::span<T const> values, rill::shape const& extents) {
    if (static_cast<std::int64_t>(values.size()) != rill::elements(extents))
      refuse_count(rill::type(dtype_of<T>, extents), values.size());
    tensor t(dtype_of<T>, extents);
    only_errors([&] { std::copy(values.begin(), values.end(), t.mutable_data<T>()); });
    return t;
  }
  /// Refers to elements of the caller without copying them; they must outlive every tensor that shares them.
  template <class T>
    requires rill::element<std::remove_const_t<T>>
  static tensor borrow(std::span<T> values, rill::shape const& extents) {
    using plain = std::remove_const_t<T>;
    return tensor(dtype_of<plain>, extents,
                  buffer::adopt(const_cast<plain*>(values.data()), values.size_bytes(), nullptr, true)
                      .mark_strings(std::same_as<plain, std::string>));
  }
  /// The same for a type whose extents are all known.
  static tensor borrow(rill::type const& t, void const* elements);
  /// Moves a vector into a tensor; the elements are not copied.
  template <rill::element T>
    requires(!std::same_as<T, bool>)
  static tensor adopt(std::vector<T> values, rill::shape const& extents) {
    auto const bytes = values.size() * sizeof(T);
    T* data = values.data();
    return tensor(dtype_of<T>, extents,
                  buffer::adopt(data, bytes, std::move(values)).mark_strings(std::same_as<T, std::string>));
  }

  explicit operator bool() const noexcept { return static_cast<bool>(buffer_); }
  /// Returns the element type.
  dtype element() const noexcept { return element_; }
  /// Returns the extents.
  rill::shape const& shape() const noexcept RILL_LIFETIMEBOUND { return shape_; }
  /// Returns element type and extents.
  rill::type type() const { return rill::type(element_, shape_); }
  /// Returns the number of axes.
  std::size_t rank() const noexcept { return shape_.count; }
  /// Returns the number of elements.
  std::int64_t elements() const { return rill::elements(shape_); }
  /// Returns what the elements take, in bytes.
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(element_); }
  /// Returns the memory that the elements are in; other tensors may share it.
  buffer const& storage() const noexcept RILL_LIFETIMEBOUND { return buffer_; }

  /// Returns the memory that the elements lie in; null: the host's, and host code can touch them.
  memory_space* space() const noexcept { return buffer_.space(); }
  /// Returns the name of the memory that the elements lie in: its device's, "gpu:0", or "host".
  std::string_view device() const noexcept { return space() ? space()->name() : "host"; }
  /// Returns this tensor, or one with copies of its elements if they lie in the memory of a device.
  tensor to(host_memory_tag) const;
  /// Returns this tensor, or one with copies of its elements if they lie in another memory than that of `memory`.
  /// Throws error(resource_exhausted), and error(unimplemented) for strings in a device's memory.
  tensor to(allocator& memory) const;
  /// The same for a device's memory: `t.to(accelerator)`.
  template <class Device>
    requires requires(Device const& d) {
      { d->memory() } -> std::convertible_to<allocator&>;
    }
  tensor to(Device const& device) const {
    return to(device->memory());
  }

  /// Returns the address of the first element. Of a tensor on a device, that is no address that host code can touch.
  void const* raw() const noexcept { return detail::reached(data_); }
  /// Returns the address of the elements for writing; all other owners will see the change.
  void* mutable_raw() noexcept { return detail::reached(data_); }

  /// Returns the elements; throws error(invalid_argument) if T is not the element type, and error(failed_precondition)
  /// if they lie in a device's memory.
  template <rill::element T> T const* data() const RILL_LIFETIMEBOUND {
    check<T>();
    return static_cast<T const*>(raw());
  }
  /// Returns the elements to write to; throws as `data` does.
  template <rill::element T> T* mutable_data() RILL_LIFETIMEBOUND {
    check<T>();
    return static_cast<T*>(mutable_raw());
  }
  /// Returns the elements; throws as `data` does.
  template <rill::element T> std::span<T const> span() const RILL_LIFETIMEBOUND {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }

  /// Returns the element of a tensor with exactly one, copied from a device's memory if it lies there; throws
  /// error(invalid_argument) for other tensors.
  template <rill::element T> T item() const {
    if (elements() != 1) refuse_item();
    if (!is_touchable()) return to(host).item<T>();
    return only_errors([&]() -> T { return *data<T>(); });
  }
  /// Returns the element at an index; throws error(invalid_argument) unless there is one number for each axis, within
  /// its extent.
  template <rill::element T, std::integral... Index> T at(Index... index) const& {
    return only_errors([&]() -> T {
      return data<T>()[offset_of(std::array<std::int64_t, sizeof...(Index)>{static_cast<std::int64_t>(index)...})];
    });
  }
  /// Returns the element to write to: `t.at<float>(i, k) = 1`. All other owners will see the change.
  template <rill::element T, std::integral... Index> T& at(Index... index) & RILL_LIFETIMEBOUND {
    return mutable_data<T>()[offset_of(
        std::array<std::int64_t, sizeof...(Index)>{static_cast<std::int64_t>(index)...})];
  }

  /// Returns a tensor with other extents that shares the elements; throws error(invalid_argument) if their number
  /// differs.
  tensor reshaped(rill::shape const& extents) const;
  /// Returns rows [first, last) of the first axis, sharing the elements; throws error(invalid_argument) for other rows.
  tensor rows(std::int64_t first, std::int64_t last) const;
  /// Returns a tensor with copies of the elements in the memory of `from`; an empty handle for an empty handle.
  tensor clone(allocator& from = host_allocator()) const;
  /// Copies the elements of `from` over the elements of this tensor; throws error(invalid_argument) if the types differ
  /// and error(failed_precondition) for an empty handle.
  void assign(tensor const& from);

 private:
  template <class T> void check() const {
    if (!buffer_ || dtype_of<T> != element_ || !is_touchable()) refuse(dtype_of<T>);
  }
  // Whether the calling thread can touch the elements: on the host, or as a thread of the device that they lie on.
  bool is_touchable() const noexcept { return buffer_.space() == nullptr || detail::reached(data_) != data_; }
  void check_share(std::size_t offset) const;
  // The number of the element at an index, in row-major order.
  std::size_t offset_of(std::span<std::int64_t const> index) const {
    if (index.size() != rank()) refuse_index(index.size());
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] < 0 || index[i] >= shape_[i]) refuse_index(i, index[i]);
      offset = offset * shape_[i] + index[i];
    }
    return static_cast<std::size_t>(offset);
  }
  [[noreturn, gnu::cold]] void refuse_bytes(std::size_t offset, std::size_t need) const;
  [[noreturn, gnu::cold]] void refuse(dtype asked) const;
  [[noreturn, gnu::cold]] void refuse_item() const;
  [[noreturn, gnu::cold]] void refuse_index(std::size_t count) const;
  [[noreturn, gnu::cold]] void refuse_index(std::size_t axis, std::int64_t index) const;
  [[noreturn, gnu::cold]] static void refuse_count(rill::type const& t, std::size_t values);

  dtype element_ = dtype::float32;
  rill::shape shape_;
  buffer buffer_;
  void* data_ = nullptr;
};

#if RILL_RUNTIME
RILL_INLINE tensor::tensor(dtype element, rill::shape const& extents, allocator& from) try
    : element_(element), shape_(extents) {
  auto const n = rill::elements(extents);
  auto const bytes = static_cast<std::size_t>(checked_product(n, static_cast<std::int64_t>(size_of(element))));
  buffer_ =
      element == dtype::string ? buffer::strings(static_cast<std::size_t>(n), from) : buffer::allocate(bytes, from);
  data_ = buffer_.data();
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void tensor::check_share(std::size_t offset) const try {
  if ((element_ == dtype::string) != buffer_.holds_strings())
    throw error(code::invalid_argument, "a tensor of type " + type().text() + " can't refer to a buffer that holds " +
                                            (buffer_.holds_strings() ? "strings" : "other elements than strings"));
  auto const align = visit(element_, []<class T>() { return alignof(T); });
  if ((reinterpret_cast<std::uintptr_t>(buffer_.data()) + offset) % align != 0)
    throw error(code::invalid_argument, "a tensor of type " + type().text() +
                                            " needs an address that is a multiple of " + std::to_string(align) +
                                            ", but byte " + std::to_string(offset) + " of its buffer has another one");
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void tensor::refuse(dtype asked) const try {
  if (!buffer_) throw error(code::failed_precondition, "a tensor handle is empty: it has no elements");
  if (asked != element_)
    throw error(code::invalid_argument,
                "a tensor of type " + type().text() + " can't be accessed as " + std::string(name(asked)));
  throw error(code::failed_precondition, "a tensor of type " + type().text() + " lies in the memory of '" +
                                             std::string(space()->name()) +
                                             "', which host code can't touch: copy it by t.to(rill::host)");
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void tensor::refuse_bytes(std::size_t offset, std::size_t need) const try {
  throw error(code::invalid_argument, "a tensor of type " + type().text() + " at byte " + std::to_string(offset) +
                                          " takes " + std::to_string(need) + " bytes, but its buffer has only " +
                                          std::to_string(buffer_.bytes()));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void tensor::refuse_item() const try {
  throw error(code::invalid_argument,
              "item() needs a tensor with exactly one element, not one of type " + type().text());
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void tensor::refuse_index(std::size_t count) const try {
  throw error(code::invalid_argument, "at() needs an index for each axis of a tensor of type " + type().text() +
                                          ", but got " + std::to_string(count));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void tensor::refuse_index(std::size_t axis, std::int64_t index) const try {
  throw error(code::invalid_argument, "index " + std::to_string(index) + " of axis " + std::to_string(axis) +
                                          " lies outside of a tensor of type " + type().text());
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void tensor::refuse_count(rill::type const& t, std::size_t values) try {
  throw error(code::invalid_argument, "a tensor of type " + t.text() + " has " +
                                          std::to_string(rill::elements(t.shape())) + " elements, but " +
                                          std::to_string(values) + " values were given");
} catch (...) {
  rethrow_as_error();
}
#endif

/// Whether two tensors, in whatever memory, have the same type, extents and bytes (strings: the same characters). NaN
/// equals NaN with the same bits, and an empty handle equals an empty handle.
bool same_bits(tensor const& a, tensor const& b);

namespace detail {
[[noreturn, gnu::cold]] void refuse_type(type const& t, type const& wanted);
#if RILL_RUNTIME
RILL_INLINE void refuse_type(type const& t, type const& wanted) try {
  throw error(code::invalid_argument, "expected a tensor of type " + wanted.text() + ", got one of type " + t.text());
} catch (...) {
  rethrow_as_error();
}
#endif
}  // namespace detail

/// A tensor whose type is known at compile time, as far as `T` says.
template <type T> struct tensor_of : tensor {
  /// What the compiler knows of the type.
  static constexpr rill::type static_type = T;
  tensor_of() = default;
  /// Throws error(invalid_argument) if the type of `t` doesn't match `T`.
  explicit tensor_of(tensor t) : tensor(std::move(t)) {
    if (storage() && !accepts(T, type())) detail::refuse_type(type(), T);
  }
  /// Converts a scalar to its value, also a bool: `if (t)` then tests the value.
  operator element_of<T.element>() const
    requires(T.rank == 0)
  {
    return item<element_of<T.element>>();
  }
  /// Returns the elements.
  std::span<element_of<T.element> const> values() const RILL_LIFETIMEBOUND { return span<element_of<T.element>>(); }
};

/// Returns a tensor of rank 1 with the given values.
template <element T> tensor_of<of<T, unknown>> vector(std::initializer_list<T> values) {
  return tensor_of<of<T, unknown>>(
      tensor::copy(std::span<T const>(values.begin(), values.size()), shape{values.size()}));
}
/// Returns a tensor of rank 1 with copies of the elements of a contiguous range, such as a std::vector.
template <std::ranges::contiguous_range Range>
  requires element<std::ranges::range_value_t<Range>>
auto vector(Range const& values) {
  using T = std::ranges::range_value_t<Range>;
  return tensor_of<of<T, unknown>>(tensor::copy(std::span<T const>(values), shape{std::ranges::size(values)}));
}

namespace detail {

// std::initializer_list<… std::initializer_list<T> …>, of so many levels.
template <class T, std::size_t Levels> struct nested_list {
  using type = std::initializer_list<typename nested_list<T, Levels - 1>::type>;
};
template <class T> struct nested_list<T, 0> {
  using type = T;
};

template <class T> void read_extents(T const&, shape&) {}
template <class T> void read_extents(std::initializer_list<T> list, shape& to) {
  to.push_back(static_cast<std::int64_t>(list.size()));
  if (list.size() > 0) read_extents(*list.begin(), to);
}
template <class T> void copy_nested(T const& value, shape const&, std::size_t, T*& to) { *to++ = value; }
template <class T, class Inner>
void copy_nested(std::initializer_list<Inner> list, shape const& extents, std::size_t axis, T*& to) {
  expects(static_cast<std::int64_t>(list.size()) == extents[axis],
          axis == 1 ? "the rows of a matrix must be equally long" : "the lists of an array must be equally long");
  for (auto const& each : list) copy_nested(each, extents, axis + 1, to);
}
template <class T, std::size_t Rank> constexpr type open_type() {
  type t{dtype_of<T>};
  for (std::size_t i = 0; i < Rank; ++i) t.push_back(unknown);
  return t;
}

}  // namespace detail

/// Returns a tensor of rank `Rank` with the given values: `array<float, 3>({{{1, 2}}, {{3, 4}}})` has the extents
/// [2, 1, 2]. Throws error(invalid_argument) unless the lists of each level are equally long.
template <element T, std::size_t Rank>
  requires(Rank > 0 && Rank <= max_rank)
tensor_of<detail::open_type<T, Rank>()> array(typename detail::nested_list<T, Rank>::type const& values) {
  shape extents;
  detail::read_extents(values, extents);
  while (extents.rank() < Rank) extents.push_back(0);  // within an empty list
  tensor t(dtype_of<T>, extents);
  T* to = t.template mutable_data<T>();
  only_errors([&] { detail::copy_nested(values, extents, 0, to); });
  return tensor_of<detail::open_type<T, Rank>()>(std::move(t));
}

/// Returns a tensor of rank 2 with the given rows; throws error(invalid_argument) unless they are equally long.
template <element T> tensor_of<of<T, unknown, unknown>> matrix(std::initializer_list<std::initializer_list<T>> rows) {
  return array<T, 2>(rows);
}

#if RILL_RUNTIME

RILL_INLINE tensor tensor::borrow(rill::type const& t, void const* elements) try {
  auto const bytes = static_cast<std::size_t>(rill::elements(t.shape())) * size_of(t.element);
  return tensor(
      t.element, t.shape(),
      buffer::adopt(const_cast<void*>(elements), bytes, nullptr, true).mark_strings(t.element == dtype::string));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE tensor tensor::clone(allocator& from) const {
  if (!buffer_) return {};
  tensor t(element_, shape_, from);
  t.assign(*this);
  return t;
}

RILL_INLINE tensor tensor::to(host_memory_tag) const { return to(host_allocator()); }
RILL_INLINE tensor tensor::to(allocator& memory) const {
  return !buffer_ || memory.space() == space() ? *this : clone(memory);
}

RILL_INLINE void tensor::assign(tensor const& from) try {
  if (!buffer_ || !from.buffer_) tensor().refuse(element_);
  if (from.element_ != element_ || from.shape_ != shape_)
    throw error(code::invalid_argument,
                "a tensor of type " + from.type().text() + " can't be assigned to one of type " + type().text());
  if (element_ == dtype::string) std::copy_n(from.data<std::string>(), elements(), mutable_data<std::string>());
  else copy_bytes(space(), data_, from.space(), from.data_, bytes());
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE bool same_bits(tensor const& a, tensor const& b) {
  if (!a || !b) return !a && !b;
  if (a.element() != b.element() || a.shape() != b.shape()) return false;
  if (a.space() || b.space()) return same_bits(a.to(host), b.to(host));
  if (a.element() == dtype::string)
    return std::equal(a.span<std::string>().begin(), a.span<std::string>().end(), b.span<std::string>().begin());
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

RILL_INLINE tensor tensor::reshaped(rill::shape const& extents) const try {
  if (rill::elements(extents) != elements())
    throw error(code::invalid_argument, "a tensor of type " + type().text() + " with " + std::to_string(elements()) +
                                            " elements can't be reshaped to " + extents.text());
  tensor t = *this;
  t.shape_ = extents;
  return t;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE tensor tensor::rows(std::int64_t first, std::int64_t last) const try {
  expects(rank() > 0, "a scalar has no rows");
  if (first < 0 || last < first || last > shape_[0])
    throw error(code::invalid_argument, "rows [" + std::to_string(first) + ", " + std::to_string(last) +
                                            ") are not rows of a tensor of type " + type().text());
  tensor t = *this;
  t.shape_[0] = last - first;
  auto const row = shape_[0] == 0 ? 0 : bytes() / static_cast<std::size_t>(shape_[0]);
  t.data_ = static_cast<std::byte*>(data_) + static_cast<std::size_t>(first) * row;
  return t;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
