// Stands for rill/program/packet.hpp in CUDA source: a packet is one number, whatever `Bytes` is, and a mask is one
// truth value; threads are lanes. The elementary functions are compiled from the processor's own headers, which include
// this in the place of that header. Every operation gives the bits of the processor's packets, except NaNs: a GPU makes
// every NaN that arithmetic returns 0x7fffffff.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace rill {

inline constexpr std::size_t native_packet_bytes = 16;

template <class T>
concept packable = std::same_as<T, float> || std::same_as<T, double> ||
                   (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>);

namespace detail {
template <std::size_t Size>
using signed_word = std::conditional_t<
    Size == 1, std::int8_t,
    std::conditional_t<Size == 2, std::int16_t, std::conditional_t<Size == 4, std::int32_t, std::int64_t>>>;
template <std::size_t Size> using unsigned_word = std::make_unsigned_t<signed_word<Size>>;
}  // namespace detail

template <class T, std::size_t Bytes = native_packet_bytes> struct packet;

template <class T, std::size_t Bytes = native_packet_bytes> struct mask {
  using element = bool;
  static constexpr std::size_t lanes = 1;

  bool raw;

  mask() = default;
  mask(bool value) : raw(value) {}
  bool operator[](std::size_t) const { return raw; }
  bool all() const { return raw; }

  friend mask operator&(mask a, mask b) { return a.raw && b.raw; }
  friend mask operator|(mask a, mask b) { return a.raw || b.raw; }
  friend mask operator^(mask a, mask b) { return a.raw != b.raw; }
  friend mask operator~(mask a) { return !a.raw; }
  friend mask operator!(mask a) { return !a.raw; }
  friend mask operator==(mask a, mask b) { return a.raw == b.raw; }
  friend mask operator!=(mask a, mask b) { return a.raw != b.raw; }
  friend mask logical_and(mask a, mask b) { return a & b; }
  friend mask logical_or(mask a, mask b) { return a | b; }
  friend mask logical_xor(mask a, mask b) { return a ^ b; }
  friend mask logical_not(mask a) { return !a; }

  friend packet<T, Bytes> select(mask chosen, packet<T, Bytes> a, packet<T, Bytes> b) { return chosen.raw ? a : b; }
};

namespace detail {
template <class U, class T, std::size_t Bytes> packet<U, Bytes> reinterpret(packet<T, Bytes> a) {
  return std::bit_cast<U>(a.raw);
}
}  // namespace detail

template <class T, std::size_t Bytes> struct packet {
  using element = T;
  using truth = mask<T, Bytes>;
  static constexpr std::size_t lanes = 1;

  T raw;

  packet() = default;
  template <class U>
    requires std::is_arithmetic_v<U>
  packet(U value) : raw(static_cast<T>(value)) {}

  T operator[](std::size_t) const { return raw; }
  static packet load(T const* from) { return *from; }
  void store(T* to) const { *to = raw; }

  friend packet operator+(packet a, packet b) { return static_cast<T>(word(a) + word(b)); }
  friend packet operator-(packet a, packet b) { return static_cast<T>(word(a) - word(b)); }
  friend packet operator*(packet a, packet b) { return static_cast<T>(word(a) * word(b)); }
  friend packet operator-(packet a) { return static_cast<T>(-word(a)); }
  friend packet operator/(packet a, packet b) {
    if constexpr (std::is_floating_point_v<T>) return a.raw / b.raw;
    else if (b.raw == 0) return T(0);
    else if (std::is_signed_v<T> && b.raw == static_cast<T>(-1)) return -a;
    else return static_cast<T>(a.raw / b.raw);
  }

  packet& operator+=(packet b) { return *this = *this + b; }
  packet& operator-=(packet b) { return *this = *this - b; }
  packet& operator*=(packet b) { return *this = *this * b; }
  packet& operator/=(packet b) { return *this = *this / b; }

  friend packet operator&(packet a, packet b) { return static_cast<T>(a.raw & b.raw); }
  friend packet operator|(packet a, packet b) { return static_cast<T>(a.raw | b.raw); }
  friend packet operator^(packet a, packet b) { return static_cast<T>(a.raw ^ b.raw); }
  friend packet operator~(packet a) { return static_cast<T>(~a.raw); }
  friend packet operator<<(packet a, int by) { return static_cast<T>(word(a) << by); }
  friend packet operator>>(packet a, int by) { return static_cast<T>(a.raw >> by); }

  friend packet shift_left(packet a, packet by) { return is_width(by) ? a << static_cast<int>(by.raw) : packet(0); }
  friend packet shift_right(packet a, packet by) {
    if (is_width(by)) return a >> static_cast<int>(by.raw);
    return std::is_signed_v<T> ? a >> static_cast<int>(8 * sizeof(T) - 1) : packet(0);
  }
  friend packet operator<<(packet a, packet by) { return shift_left(a, by); }
  friend packet operator>>(packet a, packet by) { return shift_right(a, by); }
  friend packet bit_and(packet a, packet b) { return a & b; }
  friend packet bit_or(packet a, packet b) { return a | b; }
  friend packet bit_xor(packet a, packet b) { return a ^ b; }
  friend packet bit_not(packet a) { return ~a; }

  friend truth operator==(packet a, packet b) { return a.raw == b.raw; }
  friend truth operator!=(packet a, packet b) { return a.raw != b.raw; }
  friend truth operator<(packet a, packet b) { return a.raw < b.raw; }
  friend truth operator<=(packet a, packet b) { return a.raw <= b.raw; }
  friend truth operator>(packet a, packet b) { return a.raw > b.raw; }
  friend truth operator>=(packet a, packet b) { return a.raw >= b.raw; }

  friend truth equal(packet a, packet b) { return a == b; }
  friend truth not_equal(packet a, packet b) { return a != b; }
  friend truth less(packet a, packet b) { return a < b; }
  friend truth less_equal(packet a, packet b) { return a <= b; }
  friend truth greater(packet a, packet b) { return a > b; }
  friend truth greater_equal(packet a, packet b) { return a >= b; }
  friend truth is_nan(packet a) { return a != a; }
  friend truth is_inf(packet a) { return abs(a) == std::numeric_limits<T>::infinity(); }
  friend truth is_finite(packet a) { return abs(a) < std::numeric_limits<T>::infinity(); }

  friend packet maximum(packet a, packet b) { return select(a != a, a, select(a > b, a, b)); }
  friend packet minimum(packet a, packet b) { return select(a != a, a, select(a < b, a, b)); }
  friend packet abs(packet a) {
    if constexpr (std::is_floating_point_v<T>)
      return std::bit_cast<T>(static_cast<bits>(std::bit_cast<bits>(a.raw) & static_cast<bits>(-1) >> 1));
    else if constexpr (std::is_signed_v<T>) return select(a < 0, -a, a);
    else return a;
  }
  friend packet sign(packet a) { return select(a < 0, -1, select(a > 0, 1, a)); }
  friend packet sqrt(packet a) { return ::sqrt(a.raw); }

 private:
  using bits = detail::unsigned_word<sizeof(T)>;
  // Signed integers wrap: they are computed as unsigned, of at least 32 bits because shorter ones promote to int.
  using wrapping =
      std::conditional_t<std::is_floating_point_v<T>, T, std::conditional_t<(sizeof(T) < 4), std::uint32_t, bits>>;
  static wrapping word(packet a) { return static_cast<wrapping>(a.raw); }
  static bool is_width(packet by) { return by.raw >= 0 && static_cast<bits>(by.raw) < 8 * sizeof(T); }
};

}  // namespace rill
