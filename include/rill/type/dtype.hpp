// The element types of tensors.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rill/base/error.hpp"
#include "rill/type/half.hpp"

namespace rill {

/// The element type of a tensor.
enum class dtype : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
  string,
};
/// How many element types there are.
inline constexpr std::size_t dtype_count = 16;

/// The element type of T, as `value`; `dtype_of<T>` is shorter.
template <class T> struct dtype_of_t;
/// The C++ type of an element, as `type`; `element_of<D>` is shorter.
template <dtype D> struct element_of_t;
#define RILL_DTYPE(T, E)                      \
  template <> struct dtype_of_t<T> {          \
    static constexpr dtype value = dtype::E;  \
  };                                          \
  template <> struct element_of_t<dtype::E> { \
    using type = T;                           \
  };
RILL_DTYPE(bool, boolean)
RILL_DTYPE(std::int8_t, int8)
RILL_DTYPE(std::int16_t, int16)
RILL_DTYPE(std::int32_t, int32)
RILL_DTYPE(std::int64_t, int64)
RILL_DTYPE(std::uint8_t, uint8)
RILL_DTYPE(std::uint16_t, uint16)
RILL_DTYPE(std::uint32_t, uint32)
RILL_DTYPE(std::uint64_t, uint64)
RILL_DTYPE(half, float16)
RILL_DTYPE(bfloat16, bfloat16)
RILL_DTYPE(float, float32)
RILL_DTYPE(double, float64)
RILL_DTYPE(std::complex<float>, complex64)
RILL_DTYPE(std::complex<double>, complex128)
RILL_DTYPE(std::string, string)
#undef RILL_DTYPE

/// A C++ type that can be the element type of a tensor.
template <class T>
concept element = requires { dtype_of_t<T>::value; };

/// The dtype of a C++ type.
template <element T> inline constexpr dtype dtype_of = dtype_of_t<T>::value;

/// The C++ type of a dtype.
template <dtype D> using element_of = typename element_of_t<D>::type;

/// Calls `f.template operator()<T>()` with the C++ type of `d`.
template <class F> constexpr decltype(auto) visit(dtype d, F&& f) {
  switch (d) {
    case dtype::boolean:
      return f.template operator()<bool>();
    case dtype::int8:
      return f.template operator()<std::int8_t>();
    case dtype::int16:
      return f.template operator()<std::int16_t>();
    case dtype::int32:
      return f.template operator()<std::int32_t>();
    case dtype::int64:
      return f.template operator()<std::int64_t>();
    case dtype::uint8:
      return f.template operator()<std::uint8_t>();
    case dtype::uint16:
      return f.template operator()<std::uint16_t>();
    case dtype::uint32:
      return f.template operator()<std::uint32_t>();
    case dtype::uint64:
      return f.template operator()<std::uint64_t>();
    case dtype::float16:
      return f.template operator()<half>();
    case dtype::bfloat16:
      return f.template operator()<bfloat16>();
    case dtype::float32:
      return f.template operator()<float>();
    case dtype::float64:
      return f.template operator()<double>();
    case dtype::complex64:
      return f.template operator()<std::complex<float>>();
    case dtype::complex128:
      return f.template operator()<std::complex<double>>();
    case dtype::string:
      break;
  }
  return f.template operator()<std::string>();
}

/// Returns the size of one element in memory, in bytes.
constexpr std::size_t size_of(dtype d) {
  return visit(d, []<class T>() { return sizeof(T); });
}

/// Returns the name that users see: "float32", "int8", "bool".
constexpr std::string_view name(dtype d) {
  constexpr std::string_view names[] = {"bool",    "int8",      "int16",      "int32",   "int64",    "uint8",
                                        "uint16",  "uint32",    "uint64",     "float16", "bfloat16", "float32",
                                        "float64", "complex64", "complex128", "string"};
  return names[static_cast<std::size_t>(d)];
}

/// A set of element types, such as the types that an operation accepts.
struct dtypes {
  std::uint32_t bits = 0;
  constexpr dtypes() = default;
  constexpr dtypes(dtype d) : bits(1u << static_cast<unsigned>(d)) {}
  constexpr bool contains(dtype d) const { return (bits >> static_cast<unsigned>(d) & 1u) != 0; }
  constexpr bool includes(dtypes others) const { return (others.bits & ~bits) == 0; }
  friend constexpr dtypes operator|(dtypes a, dtypes b) {
    a.bits |= b.bits;
    return a;
  }
  friend constexpr dtypes operator&(dtypes a, dtypes b) {
    a.bits &= b.bits;
    return a;
  }
  friend constexpr bool operator==(dtypes, dtypes) = default;

  // The sets that operations accept.
  static dtypes const signed_integers, unsigned_integers, integers, floats, complexes, reals, numbers, numeric_or_bool,
      any_element;
  static dtypes const indices;  ///< the types of indices (of gather, for instance) and of labels
};

inline constexpr dtypes dtypes::signed_integers = dtypes{dtype::int8} | dtype::int16 | dtype::int32 | dtype::int64;
inline constexpr dtypes dtypes::unsigned_integers =
    dtypes{dtype::uint8} | dtype::uint16 | dtype::uint32 | dtype::uint64;
inline constexpr dtypes dtypes::integers = signed_integers | unsigned_integers;
inline constexpr dtypes dtypes::floats = dtypes{dtype::float16} | dtype::bfloat16 | dtype::float32 | dtype::float64;
inline constexpr dtypes dtypes::complexes = dtypes{dtype::complex64} | dtype::complex128;
inline constexpr dtypes dtypes::reals = integers | floats;
inline constexpr dtypes dtypes::numbers = reals | complexes;
inline constexpr dtypes dtypes::numeric_or_bool = numbers | dtype::boolean;
inline constexpr dtypes dtypes::any_element = numeric_or_bool | dtype::string;
inline constexpr dtypes dtypes::indices = dtypes{dtype::int32} | dtype::int64;

/// Whether `d` is float16, bfloat16, float32 or float64.
constexpr bool is_float(dtype d) { return dtypes::floats.contains(d); }
/// Whether `d` is complex64 or complex128.
constexpr bool is_complex(dtype d) { return dtypes::complexes.contains(d); }
/// Returns the element type of the parts of complex numbers; of other types, the type itself.
constexpr dtype real_of(dtype d) {
  return d == dtype::complex64 ? dtype::float32 : d == dtype::complex128 ? dtype::float64 : d;
}
/// Returns the element type of complex numbers with parts of type `d`, float32 or float64.
constexpr dtype complex_of(dtype d) { return d == dtype::float32 ? dtype::complex64 : dtype::complex128; }
/// Whether gradients flow through elements of type `d`: floats and complex numbers.
constexpr bool is_differentiable(dtype d) { return (dtypes::floats | dtypes::complexes).contains(d); }

}  // namespace rill
