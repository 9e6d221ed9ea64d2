// The error function of packets.
#pragma once
#include "rill/program/elementary.hpp"

namespace rill {

namespace detail {

/// The constants of erf for a type.
template <class T> struct error_function;

template <> struct error_function<float> {
  static constexpr float most = 4;  // from here on erf rounds to 1
  // erf(x) / x - 1 in x^2 for x <= 475 / 512, to 2^-29.9
  static constexpr float small_terms[] = {0x1.06eba8p-3f, -0x1.812740p-2f,  0x1.ce2d60p-4f, -0x1.b8007ep-6f,
                                          0x1.54423ep-8f, -0x1.a5b7c4p-11f, 0x1.4e382ap-14f};
  // -log(1 - erf(x)) for larger x; erf to 2^-33.6
  static constexpr float large_terms[] = {-0x1.72a64ep-13f, 0x1.21288ap+0f, 0x1.44436cp-1f,   0x1.bb9b02p-4f,
                                          -0x1.9bca4cp-6f,  0x1.11b5c0p-8f, -0x1.c8be2ap-12f, 0x1.638c06p-16f};
};

template <> struct error_function<double> {
  static constexpr double most = 5.95;
  // to 2^-55.9
  static constexpr double small_terms[] = {0x1.06eba8214db68p-3,   -0x1.812746b0379a9p-2,  0x1.ce2f21a03fff5p-4,
                                           -0x1.b82ce311be5a7p-6,  0x1.565bccf008be9p-8,   -0x1.c02dae9c1d640p-11,
                                           0x1.f9a28c12e338dp-14,  -0x1.f4c6f8becca3ap-17, 0x1.b958c7fd8fc3ep-20,
                                           -0x1.5aebe5eaa9942p-23, 0x1.ce10b0338d71dp-27,  -0x1.8be3c2a7b9c44p-31};
  // to 2^-59.5
  static constexpr double large_terms[] = {
      0x1.eb04b81199ca4p-30,  0x1.20dd754e77dd0p+0,   0x1.45f2fb9ad6411p-1,   0x1.a4f7179082feap-4,
      -0x1.3986f204947bbp-6,  -0x1.8de579e3c473dp-13, 0x1.b32c4a17cf1eep-10,  -0x1.1a5136d25a674p-11,
      -0x1.0efb2554989d1p-15, 0x1.ea636cb8b3da4p-14,  -0x1.1bfe4998237f3p-14, 0x1.aa87e9e44f2f3p-16,
      -0x1.df29f8facf6a1p-18, 0x1.a2373bc1bda19p-20,  -0x1.1ce14f527286cp-22, 0x1.2a910d224a10cp-25,
      -0x1.d20e6b8c8efa8p-29, 0x1.feb9b1b10e097p-33,  -0x1.5e9d7a82ef1e8p-37, 0x1.c5b4061c40e72p-43};
};

}  // namespace detail

/// Returns the error function within 1.6 units in the last place: a polynomial near 0, which preserves the relative
/// error, else one minus e^-L(|x|), after N. Juffa.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> erf(packet<T, Bytes> x) {
  using known = detail::error_function<T>;
  auto const a = abs(x);
  auto const near = a < T(475.0 / 512);
  auto const z = x * x;
  auto const small = x + x * detail::polynomial(z, known::small_terms);
  if (near.all()) return small;
  detail::exponential const power(-detail::polynomial(minimum(a, packet<T, Bytes>(known::most)), known::large_terms));
  return select(near, small, detail::with_sign(1 - power.scale_to_normal(1 + power.rest), x));
}

}  // namespace rill
