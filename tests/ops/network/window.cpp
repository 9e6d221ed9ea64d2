#include "rill/ops/network/window.hpp"

#include <gtest/gtest.h>

#include "rill/base/error.hpp"

namespace rill {
namespace {

using ops::sliding;

// Windows set down one by one from `-before`: as many as begin early enough to end within the padded image.
std::int64_t windows_that_fit(sliding const& s, std::int64_t extent, std::int64_t before, std::int64_t after) {
  std::int64_t n = 0;
  for (auto at = -before; at + (s.window - 1) * s.dilation < extent + after; at += s.stride) ++n;
  return n;
}

TEST(window, counts_windows_that_fit) {
  for (std::int64_t window = 1; window <= 4; ++window)
    for (std::int64_t stride = 1; stride <= 4; ++stride)
      for (std::int64_t dilation = 1; dilation <= 3; ++dilation)
        for (std::int64_t extent = 1; extent <= 20; ++extent) {
          sliding s{window, stride, dilation, padding::valid, 0, 0};
          if (extent >= s.reach()) {
            EXPECT_EQ(s.count(extent, ""), windows_that_fit(s, extent, 0, 0));
          } else {
            EXPECT_THROW(s.count(extent, "too large"), error);
          }
          EXPECT_EQ(s.first(extent), 0);

          s.pad = padding::given, s.before = 2, s.after = 3;
          if (extent + 5 >= s.reach()) {
            EXPECT_EQ(s.count(extent, ""), windows_that_fit(s, extent, 2, 3));
          }
          EXPECT_EQ(s.first(extent), 2);
        }
}

TEST(window, pads_the_same_as_others_do) {
  for (std::int64_t window = 1; window <= 5; ++window)
    for (std::int64_t stride = 1; stride <= 4; ++stride)
      for (std::int64_t dilation = 1; dilation <= 3; ++dilation)
        for (std::int64_t extent = 1; extent <= 20; ++extent) {
          sliding const s{window, stride, dilation, padding::same, 0, 0};
          auto const n = s.count(extent, "");
          EXPECT_EQ(n, (extent + stride - 1) / stride);
          // Half of what is missing, and one less before than behind if it is odd.
          auto const missing = std::max<std::int64_t>(0, (n - 1) * stride + s.reach() - extent);
          EXPECT_EQ(s.first(extent), missing / 2);
          EXPECT_GE(windows_that_fit(s, extent, missing / 2, missing - missing / 2), n);
        }
}

TEST(window, has_none_over_nothing) {
  sliding const s{3, 2, 1, padding::same, 0, 0};
  EXPECT_EQ(s.count(0, ""), 0);
  EXPECT_EQ(s.first(0), 0);
}

TEST(window, refuses_extents_that_would_overflow) {
  sliding const s{3, 1, 1, padding::given, INT32_MAX, INT32_MAX};
  EXPECT_THROW(s.count(INT64_MAX / 2, ""), error);
}

TEST(window, keeps_the_name_of_an_axis_that_it_leaves_alone) {
  constexpr dim batch("batch");
  sliding s{3, 1, 1, padding::same, 0, 0};
  EXPECT_EQ(s.windows(batch, true, ""), batch);
  s.stride = 2;
  EXPECT_EQ(s.windows(batch, true, ""), unknown);
  EXPECT_EQ(s.windows(7, true, ""), dim(4));
  EXPECT_EQ(s.windows(7, false, ""), dim(4));
  s.pad = padding::valid;
  EXPECT_EQ(s.windows(7, true, ""), dim(3));
  EXPECT_EQ(s.windows(7, false, ""), unknown);
}

TEST(window, takes_pairs_and_pads) {
  EXPECT_EQ(ops::pair_of({}, 1, 1, ""), (extents{1, 1}));
  EXPECT_EQ(ops::pair_of({2, 3}, 1, 1, ""), (extents{2, 3}));
  EXPECT_THROW(ops::pair_of({2}, 1, 1, "two"), error);
  EXPECT_THROW(ops::pair_of({0, 3}, 1, 1, "least"), error);
  EXPECT_THROW(ops::pair_of({1, std::int64_t{1} << 31}, 1, 1, "most"), error);
  EXPECT_EQ(ops::checked_pads(padding::same, {}), (extents{0, 0, 0, 0}));
  EXPECT_EQ(ops::checked_pads(padding::given, {1, 2, 3, 4}), (extents{1, 2, 3, 4}));
  EXPECT_THROW(ops::checked_pads(padding::given, {}), error);
  EXPECT_THROW(ops::checked_pads(padding::same, {1, 2, 3, 4}), error);
  EXPECT_THROW(ops::checked_pads(padding::given, {1, 2, 3}), error);
  EXPECT_THROW(ops::checked_pads(padding::given, {1, -2, 3, 4}), error);
  EXPECT_THROW(ops::checked_pads(static_cast<padding>(9), {}), error);
}

}  // namespace
}  // namespace rill
