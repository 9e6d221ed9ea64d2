// What the headers that NVRTC reads take from the standard library. NVRTC brings no standard headers; rill gives it
// this text under their names. Integer types have the sizes that they have on 64-bit Linux.
#ifndef RILL_CUDA_TEXT_STANDARD
#define RILL_CUDA_TEXT_STANDARD

namespace std {

using size_t = unsigned long;
using ptrdiff_t = long;
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned;
using uint64_t = unsigned long;

template <class T, class U> inline constexpr bool is_same_v = false;
template <class T> inline constexpr bool is_same_v<T, T> = true;
template <class T, class... List> inline constexpr bool is_one_of = (is_same_v<T, List> || ...);
template <class T> inline constexpr bool is_signed_integer = is_one_of<T, signed char, short, int, long, long long>;
template <class T>
inline constexpr bool is_unsigned_integer =
    is_one_of<T, bool, unsigned char, unsigned short, unsigned, unsigned long, unsigned long long>;
template <class T>
inline constexpr bool is_integral_v = is_signed_integer<T> || is_unsigned_integer<T> || is_same_v<T, char>;
template <class T> inline constexpr bool is_floating_point_v = is_one_of<T, float, double>;
template <class T> inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T> inline constexpr bool is_signed_v = is_signed_integer<T> || is_floating_point_v<T>;
template <class T> inline constexpr bool is_unsigned_v = is_unsigned_integer<T>;
template <class T> inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);

template <class T, class U>
concept same_as = is_same_v<T, U>;
template <class T>
concept integral = is_integral_v<T>;
template <class T>
concept floating_point = is_floating_point_v<T>;

template <bool First, class T, class U> struct conditional {
  using type = T;
};
template <class T, class U> struct conditional<false, T, U> {
  using type = U;
};
template <bool First, class T, class U> using conditional_t = typename conditional<First, T, U>::type;
template <class T> struct type_identity {
  using type = T;
};
template <class T> using type_identity_t = typename type_identity<T>::type;
template <class T>
using make_unsigned_t =
    conditional_t<sizeof(T) == 1, uint8_t,
                  conditional_t<sizeof(T) == 2, uint16_t, conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <class To, class From> constexpr To bit_cast(From const& from) { return __builtin_bit_cast(To, from); }
constexpr size_t bit_floor(size_t x) {
  size_t power = x == 0 ? 0 : 1;
  while (power != 0 && power <= x / 2) power *= 2;
  return power;
}
constexpr bool is_constant_evaluated() { return __builtin_is_constant_evaluated(); }

template <class T> struct numeric_limits {
  static constexpr T min() {
    return is_signed_v<T> ? static_cast<T>(make_unsigned_t<T>(1) << (8 * sizeof(T) - 1)) : T(0);
  }
  static constexpr T max() { return static_cast<T>(~min()); }
};
template <> struct numeric_limits<float> {
  static constexpr float min() { return 0x1p-126f; }
  static constexpr float max() { return 0x1.fffffep127f; }
  static constexpr float infinity() { return bit_cast<float>(0x7f800000u); }
  static constexpr float quiet_NaN() { return bit_cast<float>(0x7fc00000u); }
};
template <> struct numeric_limits<double> {
  static constexpr double min() { return 0x1p-1022; }
  static constexpr double max() { return 0x1.fffffffffffffp1023; }
  static constexpr double infinity() { return bit_cast<double>(0x7ff0000000000000ul); }
  static constexpr double quiet_NaN() { return bit_cast<double>(0x7ff8000000000000ul); }
};

template <class T, size_t N> struct array {
  T values[N];
  constexpr T& operator[](size_t i) { return values[i]; }
  constexpr T const& operator[](size_t i) const { return values[i]; }
};

template <class T, size_t N> constexpr size_t size(T const (&)[N]) { return N; }

template <class T> constexpr T const& min(T const& a, T const& b) { return b < a ? b : a; }
template <class T> constexpr T const& max(T const& a, T const& b) { return a < b ? b : a; }

// Roundings and roots, which are exact or rounded correctly.
inline double sqrt(double x) { return ::sqrt(x); }
inline double floor(double x) { return ::floor(x); }
inline double round(double x) { return ::round(x); }
inline double abs(double x) { return ::fabs(x); }
template <floating_point T> constexpr bool isinf(T x) {
  return x == numeric_limits<T>::infinity() || x == -numeric_limits<T>::infinity();
}

template <class> class complex;  // named by cast_kernels.hpp, never instantiated

// half and bfloat16 check this concept; they compare as float.
struct partial_ordering;
template <class T, class Order>
concept three_way_comparable = true;

}  // namespace std

#endif
