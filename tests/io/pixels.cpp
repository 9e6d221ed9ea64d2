#include "rill/io/pixels.hpp"

#include <gtest/gtest.h>

#include "scratch.hpp"

namespace rill {
namespace {

TEST(pixels, stay_within_the_bound) {
  EXPECT_NO_THROW(pixels::check_bound(2, 3, 4, 24));
  EXPECT_EQ(pixels::room(2, 3, 4).type(), (of<std::uint8_t, 2, 3, 4>));
  EXPECT_EQ(refusal([] { pixels::check_bound(2, 3, 4, 23); }), code::resource_exhausted);
  EXPECT_EQ(refusal([] { pixels::check_bound(1u << 31, 1u << 31, 4, ~std::uint64_t{0}); }), code::resource_exhausted);
  EXPECT_EQ(refusal([] { pixels::check_bound(0, 3, 1, 24); }), code::data_loss);
}

TEST(pixels, have_one_three_or_four_channels_or_those_of_the_file) {
  for (int c : {0, 1, 3, 4}) pixels::check_channels(c);
  for (int c : {-1, 2, 5}) EXPECT_EQ(refusal([&] { pixels::check_channels(c); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
