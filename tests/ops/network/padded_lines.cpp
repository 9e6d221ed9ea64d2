#include "rill/ops/network/padded_lines.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rill {
namespace {

using kernels::convolution_shape;
using kernels::index;
using lines = kernels::padded_lines<float, float>;

// A batch of square images, and as many windows over each as it has pixels.
convolution_shape images(index batch, index side, index channels, index filter_height, index filter_width) {
  return {.batch = batch,
          .height = side,
          .width = side,
          .channels = channels,
          .filter_height = filter_height,
          .filter_width = filter_width,
          .out_channels = 1,
          .out_height = side,
          .out_width = side};
}

// The places that runs name, `step` apart within each.
std::vector<index> places(kernels::even_runs const& runs, index step) {
  std::vector<index> all;
  for (auto const& r : runs)
    for (index i = 0; i < r.count; ++i) all.push_back(r.offset + i * step);
  return all;
}

// Some elements of some pixels' patches, a pixel a row, read from the lines.
std::vector<float> patches_in(lines const& l, index capacity) {
  std::vector<float> room(static_cast<std::size_t>(capacity)), all;
  l.write(room.data());
  auto const elements = places(l.elements(), 1);
  for (auto p : places(l.pixels(), l.pixel_step()))
    for (auto e : elements) all.push_back(room.at(static_cast<std::size_t>(p + e)));
  return all;
}

TEST(padded_lines, hold_the_patches_of_any_block_for_any_stride_padding_and_dilation) {
  std::mt19937 random(1);
  auto const upto = [&](index most) { return static_cast<index>(random() % static_cast<unsigned>(most)); };
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    auto s = convolution_shape{.batch = 1 + upto(3),
                               .height = 1 + upto(9),
                               .width = 1 + upto(9),
                               .channels = 1 + upto(7),
                               .filter_height = 1 + upto(5),
                               .filter_width = 1 + upto(5),
                               .out_channels = 1,
                               .out_height = 1 + upto(6),
                               .out_width = 5 + upto(7),
                               .stride_y = 1 + upto(3),
                               .stride_x = 1 + upto(3),
                               .top = upto(7) - 3,
                               .left = upto(7) - 3,
                               .dilation_y = 1 + upto(3),
                               .dilation_x = 1 + upto(2)};
    std::vector<float> image(static_cast<std::size_t>(s.batch * s.height * s.width * s.channels));
    for (auto& x : image) x = 1 + static_cast<float>(random() % 1000);
    kernels::patches<float, float> const matrix{s, image.data()};
    index const row = upto(s.pixels()), rows = 1 + upto(s.pixels() - row);
    index const k = upto(s.elements()), depth = 1 + upto(s.elements() - k);
    lines const l(matrix, row, rows, k, depth);
    index const enough = 100 * rows * (depth + 100);
    if (!l.fit(enough)) continue;
    ++held;
    std::vector<float> whole(static_cast<std::size_t>(rows * depth));
    matrix.write(whole.data(), depth, row, rows, k, depth);
    ASSERT_EQ(patches_in(l, enough), whole) << i;
  }
  EXPECT_GT(held, 500);
}

TEST(padded_lines, need_less_room_than_patches_and_are_left_where_they_would_not) {
  auto s = images(2, 14, 32, 5, 5);
  s.top = s.left = 2;
  kernels::patches<float, float> const matrix{s, nullptr};
  index const all = (2 * (14 + 4)) * (14 + 4) * 32;
  EXPECT_TRUE(lines(matrix, 0, s.pixels(), 0, s.elements()).fit(all));
  EXPECT_FALSE(lines(matrix, 0, s.pixels(), 0, s.elements()).fit(all - 1));
  EXPECT_LT(all, s.pixels() * s.elements() / 10);
}

TEST(padded_lines, are_left_where_runs_are_short_or_many) {
  auto s = images(1, 8, 1, 3, 4);
  kernels::patches<float, float> const matrix{s, nullptr};
  EXPECT_FALSE(lines(matrix, 0, s.pixels(), 0, s.elements()).fit(1 << 20)) << "four numbers in a row";
  s.channels = 2, s.out_width = 4;
  kernels::patches<float, float> const narrow{s, nullptr};
  EXPECT_FALSE(lines(narrow, 0, s.pixels(), 0, s.elements()).fit(1 << 20)) << "four pixels in a row";
  s.out_width = 8, s.batch = 9;
  kernels::patches<float, float> const many{s, nullptr};
  EXPECT_FALSE(lines(many, 0, s.pixels(), 0, s.elements()).fit(1 << 20)) << "72 rows of pixels";
  EXPECT_TRUE(lines(many, 0, 64 * 8, 0, s.elements()).fit(1 << 20));
}

}  // namespace
}  // namespace rill
