// Packets: vector registers of numbers, computed lane by lane.
#pragma once
#include <concepts>
#include <limits>
#include <utility>

#include "rill/program/first_lanes.hpp"
#include "rill/program/mask.hpp"
#include "rill/program/square_root.hpp"

namespace rill {

/// The types of numbers that a packet can hold.
template <class T>
concept packable = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int8_t> ||
                   std::same_as<T, std::int16_t> || std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
                   std::same_as<T, std::uint8_t> || std::same_as<T, std::uint16_t> || std::same_as<T, std::uint32_t> ||
                   std::same_as<T, std::uint64_t>;

namespace detail {
/// Reinterprets the bits as numbers of another type of T's size.
template <class U, class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<U, Bytes> reinterpret(packet<T, Bytes> a) {
  return packet<U, Bytes>(reinterpret_cast<typename packet<U, Bytes>::native>(a.raw));
}
}  // namespace detail

/// `lanes` numbers of type T. Integers wrap around; x / 0 is 0 and min / -1 is min. The operations are always inlined,
/// so that the linker finds no copy for a wider instruction set.
template <class T, std::size_t Bytes> struct packet {
  static_assert(packable<T>, "packet: T has no vector type; use scalar<T>, which has the same interface");
  using element = T;
  using truth = mask<T, Bytes>;  ///< the result of a comparison
  static constexpr std::size_t lanes = Bytes / sizeof(T);
  typedef T native __attribute__((vector_size(Bytes)));

  native raw;

  packet() = default;
  [[gnu::always_inline]] explicit packet(native values) : raw(values) {}
  /// Sets every lane to `value`, converted to T.
  template <class U>
    requires std::is_arithmetic_v<U>
  [[gnu::always_inline]] packet(U value) : raw(static_cast<T>(value) - native{}) {}

  [[gnu::always_inline]] T operator[](std::size_t lane) const { return raw[lane]; }

  /// Reads `lanes` numbers from any address.
  [[gnu::always_inline]] static packet load(T const* from) {
    packet result;
    __builtin_memcpy(&result.raw, from, Bytes);
    return result;
  }
  /// Reads the first `count` lanes, count <= lanes; the others are zero.
  [[gnu::always_inline]] static packet load(T const* from, std::size_t count) {
    if (count == 1) return packet(native{*from});  // faster for scalars: no store that the load has to wait for
    if (count > lanes) __builtin_unreachable();
#if defined(__AVX512BW__)
    if constexpr (Bytes == 64) return packet(reinterpret_cast<native>(detail::load_first(from, count)));
#endif
    // One by one, and longer packets in halves: a load of what was stored in parts would wait for the stores.
    if constexpr (lanes <= 4) {
      return some(from, count, std::make_index_sequence<lanes>());
    } else if constexpr (Bytes > 16) {
      using shorter = packet<T, Bytes / 2>;
      if (count <= shorter::lanes)
        return joined(shorter::load(from, count), shorter(0), std::make_index_sequence<lanes>());
      return joined(shorter::load(from), shorter::load(from + shorter::lanes, count - shorter::lanes),
                    std::make_index_sequence<lanes>());
    } else {
      T values[lanes] = {};
      __builtin_memcpy(values, from, count * sizeof(T));
      return load(values);
    }
  }
  /// Writes `lanes` numbers to any address.
  [[gnu::always_inline]] void store(T* to) const { __builtin_memcpy(to, &raw, Bytes); }
  /// Writes the first `count` lanes, count <= lanes.
  [[gnu::always_inline]] void store(T* to, std::size_t count) const {
    if (count > lanes) __builtin_unreachable();
#if defined(__AVX512BW__)
    if constexpr (Bytes == 64)
      if (count != 1) return detail::store_first(to, raw, count);
#endif
    if (count == 1) *to = raw[0];
    else if constexpr (lanes <= 4) store_some(to, count, std::make_index_sequence<lanes>());
    else if constexpr (Bytes > 16) {
      using shorter = packet<T, Bytes / 2>;
      auto const lower = part<0>(std::make_index_sequence<shorter::lanes>());
      if (count <= shorter::lanes) return lower.store(to, count);
      lower.store(to);
      part<shorter::lanes>(std::make_index_sequence<shorter::lanes>())
          .store(to + shorter::lanes, count - shorter::lanes);
    } else {
      detail::copy_first<Bytes>(to, &raw, count * sizeof(T));
    }
  }

  [[gnu::always_inline]] friend packet operator+(packet a, packet b) { return wrap(word(a) + word(b)); }
  [[gnu::always_inline]] friend packet operator-(packet a, packet b) { return wrap(word(a) - word(b)); }
  [[gnu::always_inline]] friend packet operator*(packet a, packet b) { return wrap(word(a) * word(b)); }
  [[gnu::always_inline]] friend packet operator-(packet a) { return wrap(-word(a)); }
  [[gnu::always_inline]] friend packet operator/(packet a, packet b) {
    if constexpr (std::is_floating_point_v<T>) return packet(a.raw / b.raw);
    else return quotient(a, b);
  }
  [[gnu::always_inline]] packet& operator+=(packet b) { return *this = *this + b; }
  [[gnu::always_inline]] packet& operator-=(packet b) { return *this = *this - b; }
  [[gnu::always_inline]] packet& operator*=(packet b) { return *this = *this * b; }
  [[gnu::always_inline]] packet& operator/=(packet b) { return *this = *this / b; }

  // Bitwise operations of integers; a right shift is arithmetic if T is signed.
  [[gnu::always_inline]] friend packet operator&(packet a, packet b)
    requires std::integral<T>
  {
    return packet(a.raw & b.raw);
  }
  [[gnu::always_inline]] friend packet operator|(packet a, packet b)
    requires std::integral<T>
  {
    return packet(a.raw | b.raw);
  }
  [[gnu::always_inline]] friend packet operator^(packet a, packet b)
    requires std::integral<T>
  {
    return packet(a.raw ^ b.raw);
  }
  [[gnu::always_inline]] friend packet operator~(packet a)
    requires std::integral<T>
  {
    return packet(~a.raw);
  }
  [[gnu::always_inline]] friend packet operator<<(packet a, int by)
    requires std::integral<T>
  {
    return wrap(word(a) << by);
  }
  [[gnu::always_inline]] friend packet operator>>(packet a, int by)
    requires std::integral<T>
  {
    return packet(a.raw >> by);
  }
  // clang-format on

  /// Shifts each lane by its own number of bits. A number that is negative, or not less than the width of T, shifts all
  /// bits out: zero is left, or -1 of a negative number that is shifted right.
  [[gnu::always_inline]] friend packet shift_left(packet a, packet by)
    requires std::integral<T>
  {
    truth const inside = is_width(by);
    return select(inside, wrap(word(a) << word(select(inside, by, 0))), 0);
  }
  [[gnu::always_inline]] friend packet shift_right(packet a, packet by)
    requires std::integral<T>
  {
    truth const inside = is_width(by);
    if constexpr (std::is_signed_v<T>) return packet(a.raw >> select(inside, by, 8 * sizeof(T) - 1).raw);
    else return select(inside, packet(a.raw >> select(inside, by, 0).raw), 0);
  }
  [[gnu::always_inline]] friend packet operator<<(packet a, packet by)
    requires std::integral<T>
  {
    return shift_left(a, by);
  }
  [[gnu::always_inline]] friend packet operator>>(packet a, packet by)
    requires std::integral<T>
  {
    return shift_right(a, by);
  }
  // The same by name, for lambdas that also take graph handles.
  [[gnu::always_inline]] friend packet bit_and(packet a, packet b)
    requires std::integral<T>
  {
    return a & b;
  }
  [[gnu::always_inline]] friend packet bit_or(packet a, packet b)
    requires std::integral<T>
  {
    return a | b;
  }
  [[gnu::always_inline]] friend packet bit_xor(packet a, packet b)
    requires std::integral<T>
  {
    return a ^ b;
  }
  [[gnu::always_inline]] friend packet bit_not(packet a)
    requires std::integral<T>
  {
    return ~a;
  }

  [[gnu::always_inline]] friend truth operator==(packet a, packet b) { return lanes_of(a.raw == b.raw); }
  [[gnu::always_inline]] friend truth operator!=(packet a, packet b) { return lanes_of(a.raw != b.raw); }
  [[gnu::always_inline]] friend truth operator<(packet a, packet b) { return lanes_of(a.raw < b.raw); }
  [[gnu::always_inline]] friend truth operator<=(packet a, packet b) { return lanes_of(a.raw <= b.raw); }
  [[gnu::always_inline]] friend truth operator>(packet a, packet b) { return lanes_of(a.raw > b.raw); }
  [[gnu::always_inline]] friend truth operator>=(packet a, packet b) { return lanes_of(a.raw >= b.raw); }

  // The same by name, for lambdas that also take graph handles.
  [[gnu::always_inline]] friend truth equal(packet a, packet b) { return a == b; }
  [[gnu::always_inline]] friend truth not_equal(packet a, packet b) { return a != b; }
  [[gnu::always_inline]] friend truth less(packet a, packet b) { return a < b; }
  [[gnu::always_inline]] friend truth less_equal(packet a, packet b) { return a <= b; }
  [[gnu::always_inline]] friend truth greater(packet a, packet b) { return a > b; }
  [[gnu::always_inline]] friend truth greater_equal(packet a, packet b) { return a >= b; }

  [[gnu::always_inline]] friend truth is_nan(packet a)
    requires std::floating_point<T>
  {
    return a != a;
  }
  [[gnu::always_inline]] friend truth is_inf(packet a)
    requires std::floating_point<T>
  {
    return abs(a) == std::numeric_limits<T>::infinity();
  }
  [[gnu::always_inline]] friend truth is_finite(packet a)
    requires std::floating_point<T>
  {
    return abs(a) < std::numeric_limits<T>::infinity();
  }

  /// Returns the larger number; NaN if either is NaN.
  [[gnu::always_inline]] friend packet maximum(packet a, packet b) {
    if constexpr (std::is_floating_point_v<T>) return select(a != a, a, select(a > b, a, b));
    else return select(a > b, a, b);
  }
  /// Returns the smaller number; NaN if either is NaN.
  [[gnu::always_inline]] friend packet minimum(packet a, packet b) {
    if constexpr (std::is_floating_point_v<T>) return select(a != a, a, select(a < b, a, b));
    else return select(a < b, a, b);
  }
  /// Returns the absolute value; the smallest integer wraps around to itself.
  [[gnu::always_inline]] friend packet abs(packet a) {
    if constexpr (std::is_floating_point_v<T>)
      return detail::reinterpret<T>(detail::reinterpret<word_of_bits>(a) & magnitude_bits);
    else if constexpr (std::is_signed_v<T>) return select(a < 0, -a, a);
    else return a;
  }
  /// Returns 1, 0 or -1; zeros keep their sign, and NaN stays NaN.
  [[gnu::always_inline]] friend packet sign(packet a) {
    packet const not_above = select(a > 0, 1, a);
    if constexpr (std::is_unsigned_v<T>) return not_above;
    else return select(a < 0, -1, not_above);
  }
  /// Returns the correctly rounded square root; NaN for negative numbers.
  [[gnu::always_inline]] friend packet sqrt(packet a)
    requires std::floating_point<T>
  {
    detail::square_root<T>(a.raw);
    return a;
  }

 private:
  template <std::size_t... Index>
  [[gnu::always_inline]] static packet some(T const* from, std::size_t count, std::index_sequence<Index...>) {
    native values{};
    ((Index < count ? void(values[Index] = from[Index]) : void()), ...);
    return packet(values);
  }
  template <std::size_t... Index>
  [[gnu::always_inline]] static packet joined(packet<T, Bytes / 2> lower, packet<T, Bytes / 2> upper,
                                              std::index_sequence<Index...>) {
    return packet(__builtin_shufflevector(lower.raw, upper.raw, int{Index}...));
  }
  template <std::size_t From, std::size_t... Index>
  [[gnu::always_inline]] packet<T, Bytes / 2> part(std::index_sequence<Index...>) const {
    return packet<T, Bytes / 2>(__builtin_shufflevector(raw, raw, int{From + Index}...));
  }
  template <std::size_t... Index>
  [[gnu::always_inline]] void store_some(T* to, std::size_t count, std::index_sequence<Index...>) const {
    ((Index < count ? void(to[Index] = raw[Index]) : void()), ...);
  }

  using word_of_bits = detail::unsigned_word<sizeof(T)>;
  // Signed overflow is undefined for vectors as for numbers, so integers are computed as unsigned ones.
  using wrapping = std::conditional_t<std::is_integral_v<T>, word_of_bits, T>;
  typedef wrapping words __attribute__((vector_size(Bytes)));
  typedef word_of_bits bit_words __attribute__((vector_size(Bytes)));
  static constexpr auto magnitude_bits = static_cast<word_of_bits>(static_cast<word_of_bits>(-1) >> 1);

  /// Whether a number of bits is from 0 up to, but not including, the width of T.
  [[gnu::always_inline]] static truth is_width(packet by) {
    return lanes_of(reinterpret_cast<bit_words>(by.raw) < (bit_words{} + static_cast<word_of_bits>(8 * sizeof(T))));
  }
  [[gnu::always_inline]] static words word(packet a) { return reinterpret_cast<words>(a.raw); }
  [[gnu::always_inline]] static packet wrap(words a) { return packet(reinterpret_cast<native>(a)); }
  // The compilers differ in whether a comparison's lanes are long or long long.
  template <class Native> [[gnu::always_inline]] static truth lanes_of(Native const& a) {
    return truth(reinterpret_cast<typename truth::native>(a));
  }

  // Divisors that trap are replaced before the division, and their results after it.
  [[gnu::always_inline]] static packet quotient(packet a, packet b) {
    if constexpr (std::is_signed_v<T>) {
      packet const safe = select((b == 0) | (b == -1), 1, b);
      return select(b == 0, 0, select(b == -1, -a, packet(a.raw / safe.raw)));
    } else {
      packet const safe = select(b == 0, 1, b);
      return select(b == 0, 0, packet(a.raw / safe.raw));
    }
  }
};

}  // namespace rill
