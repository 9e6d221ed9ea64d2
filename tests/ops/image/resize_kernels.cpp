#include "rill/ops/image/resize_kernels.hpp"

#include <vector>

#include "../run.hpp"

namespace rill {
namespace {

// One row of two pixels and two channels, made of one row of three: 1/4 of the way from the first to the second, and
// the third alone.
std::vector<kernels::between> const one_row{{0, 0, 0}}, columns{{0, 1, 0.25}, {2, 2, 0}};
std::vector<kernels::reach> const from_row{{0, 1}}, from_columns{{0, 1}, {0, 1}, {1, 2}};
kernels::resizing const how{1, 1, 3, 2, 1, 2, one_row.data(), columns.data(), from_row.data(), from_columns.data()};

TEST(resize_kernels, mix_the_pixels_on_both_sides) {
  std::vector<double> const x{0, 10, 4, 20, 7, INFINITY};
  std::vector<double> y(4);
  kernels::resize_linear(how, x.data(), y.data(), parallel());
  EXPECT_EQ(y, (std::vector<double>{1, 12.5, 7, INFINITY}));
}

TEST(resize_kernels, give_the_gradient_to_the_pixels_in_the_same_parts) {
  std::vector<double> const dy{4, 8, 1, 2};
  std::vector<double> dx(6, -1);
  kernels::resize_gradient(how, dy.data(), dx.data(), parallel());
  EXPECT_EQ(dx, (std::vector<double>{3, 6, 1, 2, 1, 2}));
}

}  // namespace
}  // namespace rill
