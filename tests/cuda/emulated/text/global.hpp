// Stands for rill/cuda/text/global.cuh where kernels run on the host: a pointer into a device's memory that takes off
// the tag of its address and checks each access against the allocations, to the byte.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rill/emulated/prelude.hpp"

namespace rill::text {

template <class T> class global {
 public:
  using element_type = T;

  global() = default;
  constexpr global(decltype(nullptr)) : address_(0) {}
  /// From what would be a pointer: of the program, or of another thread's stack.
  explicit global(T* at) : address_(reinterpret_cast<std::uintptr_t>(at)) {}
  template <class U>
    requires(std::is_convertible_v<U (*)[], T (*)[]>)
  global(global<U> other) : address_(other.address()) {}
  template <class U>
    requires(!std::is_convertible_v<U (*)[], T (*)[]>)
  explicit global(global<U> other) : address_(other.address()) {
    static_assert(!std::is_const_v<U> || std::is_const_v<T>, "global: a cast takes no const away");
  }

  std::uintptr_t address() const { return address_; }
  explicit operator bool() const { return address_ != 0; }

  T& operator*() const { return reached(address_); }
  T* operator->() const { return &reached(address_); }
  template <class I> T& operator[](I i) const { return reached(at(i)); }

  template <class I>
    requires std::is_integral_v<I>
  friend global operator+(global a, I by) {
    return a += by;
  }
  template <class I>
    requires std::is_integral_v<I>
  friend global operator+(I by, global a) {
    return a += by;
  }
  template <class I>
    requires std::is_integral_v<I>
  friend global operator-(global a, I by) {
    return a -= by;
  }
  friend std::ptrdiff_t operator-(global a, global b) {
    return static_cast<std::ptrdiff_t>(a.address_ - b.address_) / static_cast<std::ptrdiff_t>(sizeof(T));
  }
  template <class I> global& operator+=(I by) {
    address_ = at(by);
    return *this;
  }
  template <class I> global& operator-=(I by) {
    address_ = address_ - static_cast<std::uintptr_t>(by) * sizeof(T);
    return *this;
  }
  global& operator++() { return *this += 1; }
  global& operator--() { return *this -= 1; }
  global operator++(int) {
    global const before = *this;
    *this += 1;
    return before;
  }
  global operator--(int) {
    global const before = *this;
    *this -= 1;
    return before;
  }
  friend bool operator==(global, global) = default;
  friend auto operator<=>(global, global) = default;

 private:
  std::uintptr_t address_;

  template <class I> std::uintptr_t at(I i) const { return address_ + static_cast<std::uintptr_t>(i) * sizeof(T); }

  static T& reached(std::uintptr_t address) {
    auto& here = rill::emulated::here;
    auto& seen = here.seen[here.slot(address)];
    std::uintptr_t const offset = address - seen.begin;
    if (offset >= seen.bytes || seen.bytes - offset < sizeof(T) || address % alignof(T) != 0) [[unlikely]]
      seen = here.host->find(address, sizeof(T), alignof(T));
    return *reinterpret_cast<T*>(address & ~rill::emulated::device_bit);
  }
};
static_assert(sizeof(global<float>) == sizeof(float*));

}  // namespace rill::text
