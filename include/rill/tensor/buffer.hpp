// A counted reference to a block of memory.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "rill/tensor/allocator.hpp"

namespace rill {

/// A reference to a block of bytes. Copies share the block; the last one frees it.
class buffer {
 public:
  buffer() = default;
  buffer(buffer const& other) noexcept : block_(other.block_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  buffer(buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  buffer& operator=(buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~buffer() {
    if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) block_->destroy(block_);
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// Returns the address of the bytes in their memory, which host code can't touch if it is a device's.
  void* data() const noexcept { return block_ ? block_->data : nullptr; }
  std::size_t bytes() const noexcept { return block_ ? block_->bytes : 0; }
  /// Whether this is the only reference, so that the bytes may be written in place.
  bool unique() const noexcept {
    return block_ && !block_->foreign && block_->references.load(std::memory_order_acquire) == 1;
  }
  friend bool operator==(buffer const&, buffer const&) = default;
  /// Whether the bytes are std::string objects.
  bool holds_strings() const noexcept { return block_ && block_->strings; }
  /// Returns the memory that the bytes lie in; null: the host's.
  memory_space* space() const noexcept { return block_ ? block_->space : nullptr; }
  /// Returns the allocator of the bytes; host_allocator() for adopted bytes.
  allocator& source() const { return block_ && block_->from ? *block_->from : host_allocator(); }

  /// Allocates uninitialised bytes from `from`; throws error(resource_exhausted) if it has no room for them.
  static buffer allocate(std::size_t bytes, allocator& from = host_allocator());

  /// Allocates `count` empty strings from `from`; throws error(resource_exhausted) if it has no room for them, and
  /// error(unimplemented) if its memory is not the host's.
  static buffer strings(std::size_t count, allocator& from = host_allocator());

  /// Refers to bytes with another owner; `owner` is destroyed with the last reference. If `foreign`, code outside of
  /// rill may read the bytes as well, so that they are never written in place.
  template <class Owner> static buffer adopt(void* data, std::size_t bytes, Owner owner, bool foreign = false) {
    struct owned_elsewhere final : block {
      explicit owned_elsewhere(Owner o) : owner(std::move(o)) {}
      Owner owner;
    };
    auto* b = only_errors([&] { return new owned_elsewhere(std::move(owner)); });
    b->data = data;
    b->bytes = bytes;
    b->foreign = foreign;
    b->destroy = [](block* base) noexcept { delete static_cast<owned_elsewhere*>(base); };
    return buffer(b);
  }
  /// Marks the bytes as std::string objects, or as other elements, and returns the buffer.
  buffer mark_strings(bool strings) && noexcept {
    if (block_) block_->strings = strings;
    return std::move(*this);
  }

 private:
  struct block {
    std::atomic<std::uint32_t> references{1};
    void* data = nullptr;
    std::size_t bytes = 0;
    allocator* from = nullptr;
    memory_space* space = nullptr;  // null: the host's
    bool foreign = false;           // code outside of rill may read the bytes
    bool strings = false;
    void (*destroy)(block*) noexcept = nullptr;
  };
  // A block that lies in front of its bytes, in one allocation: the host's memory.
  struct owned final : block {
    std::size_t size = 0;

    static owned* allocate(std::size_t bytes, allocator& from);
    static void deallocate(block* base) noexcept;
  };
  // A block that lies in the host's memory, whose bytes lie in another.
  struct owned_in_space final : block {
    static block* allocate(std::size_t bytes, allocator& from);
  };
  static error too_large() { return error(code::resource_exhausted, "a buffer is larger than the address space"); }
  explicit buffer(block* b) : block_(b) {}
  block* block_ = nullptr;
};

#if RILL_RUNTIME

RILL_INLINE buffer buffer::allocate(std::size_t bytes, allocator& from) try {
  if (bytes > SIZE_MAX / 2) throw too_large();
  return buffer(from.space() ? owned_in_space::allocate(bytes, from) : owned::allocate(bytes, from));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE buffer buffer::strings(std::size_t count, allocator& from) try {
  if (count > SIZE_MAX / 2 / sizeof(std::string)) throw too_large();
  if (auto const* const space = from.space())
    throw error(code::unimplemented,
                "strings lie in the host's memory alone, not in that of '" + std::string(space->name()) + "'");
  auto* const b = owned::allocate(count * sizeof(std::string), from);
  std::uninitialized_value_construct_n(static_cast<std::string*>(b->data), count);
  b->strings = true;
  b->destroy = [](block* base) noexcept {
    std::destroy_n(static_cast<std::string*>(base->data), base->bytes / sizeof(std::string));
    owned::deallocate(base);
  };
  return buffer(b);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE buffer::owned* buffer::owned::allocate(std::size_t bytes, allocator& from) {
  constexpr std::size_t head = (sizeof(owned) + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
  auto* p = static_cast<std::byte*>(from.allocate(head + bytes));
  auto* b = ::new (p) owned;
  b->data = p + head;
  b->bytes = bytes;
  b->from = &from;
  b->size = head + bytes;
  b->destroy = deallocate;
  return b;
}

RILL_INLINE buffer::block* buffer::owned_in_space::allocate(std::size_t bytes, allocator& from) {
  auto b = std::make_unique<owned_in_space>();
  b->data = from.allocate(std::max<std::size_t>(bytes, 1));
  b->bytes = bytes;
  b->from = &from;
  b->space = from.space();
  b->destroy = [](block* base) noexcept {
    base->from->deallocate(base->data, std::max<std::size_t>(base->bytes, 1));
    delete static_cast<owned_in_space*>(base);
  };
  return b.release();
}

RILL_INLINE void buffer::owned::deallocate(block* base) noexcept {
  auto* self = static_cast<owned*>(base);
  self->from->deallocate(self, self->size);
}

#endif

}  // namespace rill
