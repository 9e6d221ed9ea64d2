// Stands for rill/program/complex.hpp in CUDA source, which has no kernels of complex numbers: what scalar.hpp names.
#pragma once
#include <complex>

namespace rill::detail {
template <class Real> struct complex_number;
template <class Real> Real magnitude(std::complex<Real> z);
}  // namespace rill::detail
