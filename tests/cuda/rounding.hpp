// Comparisons with results of the host in which products of matrices are rounded.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <string>
#include <type_traits>
#include <vector>

#include "numbers.hpp"
#include "rill/rill.hpp"

namespace rill::test {

/// Whether the host's kernels round a product together with the sum, as GPUs do, and all kernels for x86-64-v3. The
/// portable ones, which builds with sanitizers have alone, round twice.
inline bool host_rounds_once() {
  static bool const once = [] {
    double const x = 1 + 0x1p-30;
    graph g;
    auto const a = constant(g, tensor::copy<double>(std::vector{-1., x}, {1, 2}));
    auto const b = constant(g, tensor::copy<double>(std::vector{x * x, x}, {2, 1}));
    return session{g, {.threads = 1, .passes = pass_options::none()}}.run(matmul(a, b)).template item<double>() != 0;
  }();
  return once;
}

/// Expects two results of any element type but strings to be as near as sums of products that round otherwise.
inline void expect_near_numbers(tensor const& there, tensor const& here, std::string const& of) {
  visit(here.element(), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T> || size_of(dtype_of<T>) == 2) {
      double const most = sizeof(T) == 2 ? 0.05 : 1e-3;
      auto const a = there.span<T>(), b = here.span<T>();
      for (std::size_t i = 0; i < b.size(); ++i) {
        auto const x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
        bool const near = std::isfinite(y) ? std::abs(x - y) <= most * (1 + std::abs(y)) : x == y || (x != x && y != y);
        EXPECT_TRUE(near) << of << " of element " << i << ": " << x << " there, " << y << " here";
      }
    } else if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>)
      expect_same_numbers(there, here, of);
  });
}
/// Expects the host's bits where the host rounds as a GPU does, and else numbers that are near.
inline void expect_the_hosts_numbers(tensor const& there, tensor const& here, std::string const& of) {
  ASSERT_EQ(there.type(), here.type()) << of;
  if (host_rounds_once()) expect_same_numbers(there, here, of);
  else expect_near_numbers(there, here, of);
}

}  // namespace rill::test
