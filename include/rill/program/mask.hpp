// Masks: a truth value for each lane of a packet.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace rill {

/// The bytes of a vector register of the target processor.
#if defined(__AVX512F__)
inline constexpr std::size_t native_packet_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t native_packet_bytes = 32;
#else
inline constexpr std::size_t native_packet_bytes = 16;
#endif

namespace detail {
/// The signed integer of `Size` bytes.
template <std::size_t Size>
using signed_word = std::conditional_t<
    Size == 1, std::int8_t,
    std::conditional_t<Size == 2, std::int16_t, std::conditional_t<Size == 4, std::int32_t, std::int64_t>>>;

/// The unsigned integer of `Size` bytes.
template <std::size_t Size> using unsigned_word = std::make_unsigned_t<signed_word<Size>>;

/// Copies the first `count` bytes, count <= Most, a power of two. It is faster than a call of memcpy.
template <std::size_t Most>
[[gnu::always_inline]] inline void copy_first(void* to, void const* from, std::size_t count) {
  bool const copies = (count & Most) != 0;
  if (copies) __builtin_memcpy(to, from, Most);
  if constexpr (Most > 1) {
    auto const done = copies ? Most : 0;
    copy_first<Most / 2>(static_cast<char*>(to) + done, static_cast<char const*>(from) + done, count);
  }
}
}  // namespace detail

template <class T, std::size_t Bytes = native_packet_bytes> struct packet;

/// The result of comparing two `packet<T, Bytes>`: for each lane an integer of T's size, 0 or -1. In memory it is an
/// array of bools.
template <class T, std::size_t Bytes = native_packet_bytes> struct mask {
  using element = bool;
  using lane = detail::signed_word<sizeof(T)>;
  static constexpr std::size_t lanes = Bytes / sizeof(T);
  typedef lane native __attribute__((vector_size(Bytes)));

  native raw;

  mask() = default;
  [[gnu::always_inline]] explicit mask(native values) : raw(values) {}
  /// Sets every lane to `value`.
  [[gnu::always_inline]] mask(bool value) : raw(native{} - static_cast<lane>(value)) {}

  [[gnu::always_inline]] bool operator[](std::size_t at) const { return raw[at] != 0; }

  /// Reads `lanes` bools.
  [[gnu::always_inline]] static mask load(bool const* from) {
    flags bytes;
    __builtin_memcpy(&bytes, from, lanes);
    return widen(-bytes, std::make_index_sequence<Bytes>());
  }
  /// Reads the first `count` lanes, count <= lanes; the others are false.
  [[gnu::always_inline]] static mask load(bool const* from, std::size_t count) {
    if (count == 1)
      return mask(native{static_cast<lane>(-static_cast<lane>(*from))});  // faster for scalars, as in packet
    if (count > lanes) __builtin_unreachable();
    if constexpr (lanes <= 4) {  // as in packet
      return some(from, count, std::make_index_sequence<lanes>());
    } else {
      bool values[lanes] = {};
      __builtin_memcpy(values, from, count);
      return load(values);
    }
  }
  /// Writes `lanes` bools.
  [[gnu::always_inline]] void store(bool* to) const {
    flags const bytes = -narrow(*this, std::make_index_sequence<lanes>());
    __builtin_memcpy(to, &bytes, lanes);
  }
  /// Writes the first `count` lanes, count <= lanes.
  [[gnu::always_inline]] void store(bool* to, std::size_t count) const {
    if (count > lanes) __builtin_unreachable();
    if (count == 1) {
      *to = (*this)[0];
      return;
    }
    if constexpr (lanes <= 4) {
      store_some(to, count, std::make_index_sequence<lanes>());
    } else {
      bool values[lanes];
      store(values);
      detail::copy_first<lanes>(to, values, count);
    }
  }

  /// Whether every lane is true.
  [[gnu::always_inline]] bool all() const {
    // Processors with an instruction for it collect the sign bits of all bytes in one number; otherwise words are
    // combined one by one.
#if defined(__AVX512BW__)
    if constexpr (Bytes == 64) return __builtin_ia32_cvtb2mask512(signs()) == static_cast<std::uint64_t>(-1);
#endif
#if defined(__AVX2__)
    if constexpr (Bytes == 32) return __builtin_ia32_pmovmskb256(signs()) == -1;
#endif
#if defined(__SSE2__)
    if constexpr (Bytes == 16) return __builtin_ia32_pmovmskb128(signs()) == 0xffff;
#endif
    long long words[Bytes / sizeof(long long)], every = -1;
    __builtin_memcpy(words, &raw, Bytes);
    for (auto w : words) every &= w;
    return every == -1;
  }

  [[gnu::always_inline]] friend mask operator&(mask a, mask b) { return mask(a.raw & b.raw); }
  [[gnu::always_inline]] friend mask operator|(mask a, mask b) { return mask(a.raw | b.raw); }
  [[gnu::always_inline]] friend mask operator^(mask a, mask b) { return mask(a.raw ^ b.raw); }
  [[gnu::always_inline]] friend mask operator~(mask a) { return mask(~a.raw); }
  [[gnu::always_inline]] friend mask operator!(mask a) { return ~a; }
  [[gnu::always_inline]] friend mask operator==(mask a, mask b) { return !(a ^ b); }
  [[gnu::always_inline]] friend mask operator!=(mask a, mask b) { return a ^ b; }

  // The same by name, for lambdas that also take graph handles.
  [[gnu::always_inline]] friend mask logical_and(mask a, mask b) { return a & b; }
  [[gnu::always_inline]] friend mask logical_or(mask a, mask b) { return a | b; }
  [[gnu::always_inline]] friend mask logical_xor(mask a, mask b) { return a ^ b; }
  [[gnu::always_inline]] friend mask logical_not(mask a) { return ~a; }

  /// Returns, lane by lane, `a` where `chosen`, else `b`. A friend of mask, so that lookup finds it even if both
  /// operands are plain numbers.
  [[gnu::always_inline]] friend packet<T, Bytes> select(mask chosen, packet<T, Bytes> a, packet<T, Bytes> b) {
    return packet<T, Bytes>(chosen.raw ? a.raw : b.raw);
  }

 private:
  typedef std::int8_t flags __attribute__((vector_size(lanes)));
  typedef std::int8_t all_bytes __attribute__((vector_size(Bytes)));

  template <std::size_t... Index>
  [[gnu::always_inline]] static mask some(bool const* from, std::size_t count, std::index_sequence<Index...>) {
    native values{};
    ((Index < count ? void(values[Index] = static_cast<lane>(-static_cast<lane>(from[Index]))) : void()), ...);
    return mask(values);
  }
  template <std::size_t... Index>
  [[gnu::always_inline]] void store_some(bool* to, std::size_t count, std::index_sequence<Index...>) const {
    ((Index < count ? void(to[Index] = raw[Index] != 0) : void()), ...);
  }

  [[gnu::always_inline]] auto signs() const {
    typedef char bytes __attribute__((vector_size(Bytes)));
    return reinterpret_cast<bytes>(raw);
  }

  // All bytes of a lane are equal, so byte shuffles convert; g++ 12 compiles __builtin_convertvector to a chain of
  // scalar moves.
  template <std::size_t... Byte> [[gnu::always_inline]] static mask widen(flags bytes, std::index_sequence<Byte...>) {
    if constexpr (lanes == Bytes) return mask(bytes);
    else return mask(reinterpret_cast<native>(__builtin_shufflevector(bytes, bytes, int{Byte / sizeof(T)}...)));
  }
  template <std::size_t... Lane> [[gnu::always_inline]] static flags narrow(mask a, std::index_sequence<Lane...>) {
    all_bytes const bytes = reinterpret_cast<all_bytes>(a.raw);
    return __builtin_shufflevector(bytes, bytes, int{Lane * sizeof(T)}...);
  }
};

}  // namespace rill
