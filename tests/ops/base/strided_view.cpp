#include "rill/ops/base/strided_view.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rill::kernels {
namespace {

std::vector<std::int64_t> walked(strided_view const& v) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < v.elements(); ++i) all.push_back(v[i]);
  return all;
}

using indices = std::vector<std::int64_t>;

TEST(strided_view, walks_a_matrix_by_columns) {
  strided_view v;
  v.add(3, 1), v.add(2, 3);
  EXPECT_EQ(walked(v), (indices{0, 3, 1, 4, 2, 5}));
}

TEST(strided_view, joins_axes_that_are_walked_evenly_and_drops_those_of_one) {
  strided_view v;
  v.add(2, 12), v.add(1, 99), v.add(3, 4), v.add(4, 1);
  EXPECT_EQ(v.rank, 1u);
  EXPECT_EQ(v.elements(), 24);
  EXPECT_EQ(v[23], 23);
}

TEST(strided_view, broadcasts_as_NumPy_does) {
  EXPECT_EQ(walked(broadcast_view({2, 1}, {2, 3})), (indices{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(walked(broadcast_view({3}, {2, 3})), (indices{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(walked(broadcast_view({}, {2, 2})), (indices{0, 0, 0, 0}));
  EXPECT_EQ(walked(broadcast_view({1, 2, 1}, {2, 2, 2})), (indices{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(broadcast_view({1, 3}, {0, 3}).elements(), 0);
}

}  // namespace
}  // namespace rill::kernels
