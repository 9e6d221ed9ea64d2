#include "rill/ops/matrix/gemm_plan.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rill {
namespace {

using kernels::gemm_plan;
using kernels::index;

index extent(std::mt19937& random) {
  static constexpr index edges[] = {1, 2, 7, 8, 63, 64, 65, 192, 193, 256, 288, 289, 1000, 2048, 4097};
  return random() % 2 != 0 ? edges[random() % std::size(edges)] : static_cast<index>(1 + random() % 3000);
}

TEST(gemm_plan, cuts_k_by_the_extents_alone) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    auto const m = extent(random), n = extent(random), k = extent(random);
    gemm_plan<float> const one(m, n, k, 1);
    for (int threads : {2, 3, 8, 64}) {
      gemm_plan<float> const many(m, n, k, threads);
      EXPECT_EQ(many.depth, one.depth) << m << ' ' << n << ' ' << k;
      EXPECT_EQ(many.part_blocks, one.part_blocks);
      EXPECT_EQ(many.parts, one.parts);
    }
  }
}

template <class Sum> void cuts_everything_once() {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    auto const m = extent(random), n = extent(random), k = extent(random);
    for (int threads : {1, 2, 7, 32}) {
      gemm_plan<Sum> const p(m, n, k, threads);
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + ", " +
                   std::to_string(threads) + " threads");
      // The last of each reaches the end, and the one before it does not.
      auto const reaches = [](index each, index number, index all) {
        EXPECT_GE(each * number, all);
        EXPECT_LT(each * (number - 1), all);
      };
      reaches(p.rows, p.row_units(), m);
      reaches(p.columns, p.column_units(), n);
      reaches(p.depth, p.blocks(), k);
      reaches(p.part_blocks, p.parts, p.blocks());
      // Whole tiles, and never more than the caches were measured to hold.
      EXPECT_EQ(p.rows % kernels::tile_shape<Sum>::rows, 0);
      EXPECT_EQ(p.columns % kernels::tile_shape<Sum>::columns, 0);
      EXPECT_LE(p.rows, (sizeof(Sum) == 4 ? 384 : 192) + kernels::tile_shape<Sum>::rows);
      EXPECT_LE(p.columns, (sizeof(Sum) == 4 ? 512 : 256) + kernels::tile_shape<Sum>::columns);
      EXPECT_LE(p.depth, 288 + 8);
      EXPECT_GE(p.workers, 1);
      EXPECT_LE(p.workers, std::min<index>(threads, p.units()));
      EXPECT_GE(p.scratch(), p.workers * (p.rows * p.depth + p.columns * p.depth + p.rows * p.columns));
      gemm_plan<Sum> const in_place(m, n, k, threads, false);
      EXPECT_GE(in_place.scratch(), p.workers * (p.rows * p.depth + p.columns * p.depth));
      EXPECT_LE(in_place.scratch(), p.scratch() - p.workers * p.rows * p.columns);
    }
  }
}
TEST(gemm_plan, cuts_everything_once) {
  cuts_everything_once<float>();
  cuts_everything_once<double>();
}

TEST(gemm_plan, keeps_small_products_on_one_thread) {
  EXPECT_EQ((gemm_plan<float>(64, 63, 64, 8).workers), 1);
  EXPECT_GT((gemm_plan<float>(256, 256, 256, 8).workers), 1);
}

TEST(gemm_plan, cuts_a_long_k_where_the_result_is_small) {
  EXPECT_EQ((gemm_plan<float>(1024, 1024, 1024, 1).parts), 1);
  gemm_plan<float> const p(32, 32, 1 << 16, 1);
  EXPECT_EQ(p.parts, 16);
  EXPECT_GE(p.scratch(), p.parts * 32 * 32);
}

TEST(gemm_plan, has_nothing_to_cut) {
  for (auto [m, n, k] : {std::tuple{0, 4, 4}, {4, 0, 4}, {0, 0, 0}}) {
    gemm_plan<float> const p(m, n, k, 4);
    EXPECT_EQ(p.units(), 0);
    EXPECT_EQ(p.workers, 1);
  }
  gemm_plan<float> const empty_sums(4, 4, 0, 4);
  EXPECT_EQ(empty_sums.blocks(), 0);
  EXPECT_GT(empty_sums.units(), 0);  // zeros are to be written
}

}  // namespace
}  // namespace rill
