// Matrices to decompose, and derivatives by finite differences, of complex numbers too.
#pragma once
#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill::test {

/// Batches of matrices of small elements with `size` more on the diagonals.
inline tensor well_conditioned(dtype d, std::int64_t count, std::int64_t rows, std::int64_t columns, double size) {
  auto v = to_doubles(scattered(dtype::float64, {count, rows, columns}));
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < std::min(rows, columns); ++k)
      v[static_cast<std::size_t>((i * rows + k) * columns + k)] += size;
  return from_doubles(d, {count, rows, columns}, v);
}
inline tensor well_conditioned(dtype d, std::int64_t count, std::int64_t n) {
  return well_conditioned(d, count, n, n, static_cast<double>(n));
}

/// Expects the derivatives of a weighted sum of f(x) to be the central differences of what `gradients` gives.
template <class F> void expect_derivatives(F const& f, tensor const& fed, int times) {
  graph g;
  auto const d = fed.element();
  auto const x = placeholder(g, fed.type());
  session s{g};
  auto const weighted = [&](value y) {
    std::vector<double> w(static_cast<std::size_t>(elements(y.type().shape())));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = 1 + 0.3 * static_cast<double>(i % 7);
    auto const weights = constant(g, from_doubles(y.type().element, y.type().shape(), w));
    return cast(sum(y * weights, extents{}), dtype::float64);
  };
  value target = weighted(f(x));
  for (int i = 0; i < times; ++i) {
    auto const dx = gradients(target, {x})[0];
    auto const got = s.run({{x, fed}}, dx);
    for (std::int64_t k = 0; k < fed.elements(); ++k) {
      auto const at = [&](std::complex<double> step) {
        auto t = fed.clone();
        if (d == dtype::float64) t.template mutable_data<double>()[k] += step.real();
        else t.template mutable_data<std::complex<double>>()[k] += step;
        return s.run({{x, t}}, target).template item<double>();
      };
      double const h = 1e-5, real = (at(h) - at(-h)) / (2 * h);
      if (d == dtype::float64) {
        EXPECT_NEAR(got.template data<double>()[k], real, 1e-7 * (1 + std::abs(real)));
      } else {
        std::complex<double> const wanted{real, (at({0, h}) - at({0, -h})) / (2 * h)};
        EXPECT_LT(std::abs(got.template data<std::complex<double>>()[k] - wanted), 1e-7 * (1 + std::abs(wanted)));
      }
    }
    target = weighted(dx);
  }
}

/// Expects the elements of both tensors to differ by no more than `within`.
inline void expect_close(tensor const& a, tensor const& b, double within) {
  ASSERT_EQ(a.shape(), b.shape());
  auto const x = to_doubles(a), y = to_doubles(b);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], within) << i;
}

/// How far decompositions of an element type may be off.
inline double precision_of(dtype d) { return d == dtype::float32 || d == dtype::complex64 ? 1e-4 : 1e-12; }

/// Unit matrices.
inline tensor units(dtype d, std::int64_t count, std::int64_t n) {
  std::vector<double> v(static_cast<std::size_t>(count * n * n));
  for (std::int64_t i = 0; i < count * n; ++i) v[static_cast<std::size_t>(i * n + i % n)] = 1;
  return from_doubles(d, {count, n, n}, v);
}

/// Expects an operation to refuse a type of its operand.
inline void expect_refused(value (*f)(value), char const* words, type const& t) {
  graph g;
  expect_error(code::invalid_argument, words, [&] { f(placeholder(g, t)); });
}

}  // namespace rill::test
