#include "rill/ops/array/box.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "../threads.hpp"

namespace rill {
namespace {

using ops::box;
using ops::box_copy;

// Where an element of an array lies.
std::size_t position(shape const& array, std::vector<std::int64_t> const& at) {
  std::int64_t p = 0;
  for (std::size_t i = 0; i < array.rank(); ++i) p = p * array[i] + at[i];
  return static_cast<std::size_t>(p);
}

// The same copy, an element at a time.
template <class T>
void copy_one_by_one(shape const& size, box const& to, std::vector<T>& y, box const& from, std::vector<T> const& x) {
  std::vector<std::int64_t> at(size.rank());
  for (std::int64_t n = 0; n < elements(size); ++n) {
    auto rest = n;
    for (std::size_t i = size.rank(); i-- > 0;) at[i] = rest % size[i], rest /= size[i];
    auto t = at, f = at;
    for (std::size_t i = 0; i < size.rank(); ++i) t[i] += to.begin[i], f[i] += from.begin[i];
    y[position(to.array, t)] = x[position(from.array, f)];
  }
}

// A box of this size somewhere in an array that is a little larger along some axes.
box around(extents const& size, std::mt19937& random) {
  box b;
  for (auto e : size) {
    auto const before = static_cast<std::int64_t>(random() % 2 * (random() % 3));
    b.begin.push_back(before);
    b.array.push_back(before + e + static_cast<std::int64_t>(random() % 2 * (random() % 3)));
  }
  return b;
}

template <class T, class Make> void copies_boxes(Make const& make) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    shape size;
    for (auto rank = random() % 5; size.rank() < rank;) size.push_back(static_cast<std::int64_t>(random() % 5));
    auto const to = around(size, random), from = around(size, random);
    std::vector<T> x(static_cast<std::size_t>(elements(from.array))), y(static_cast<std::size_t>(elements(to.array)));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = make(i);
    auto expected = y;
    copy_one_by_one(size, to, expected, from, x);
    test::thread_loop threads(3);
    box_copy(dtype_of<T>, size, to, from)(y.data(), x.data(), threads);
    EXPECT_EQ(y, expected) << size.text() << " into " << to.array.text() << " from " << from.array.text();
  }
}
TEST(box, is_copied_from_any_place_to_any) {
  copies_boxes<std::int32_t>([](std::size_t i) { return static_cast<std::int32_t>(i + 1); });
  copies_boxes<std::string>([](std::size_t i) { return "a string that needs memory of its own " + std::to_string(i); });
}

TEST(box, of_many_lines_is_copied_by_several_threads) {
  shape const array{3000, 40}, size{3000, 37};
  std::vector<double> x(3000 * 37), y(3000 * 40, -1);
  std::iota(x.begin(), x.end(), 0.0);
  test::thread_loop threads(4);
  box_copy(dtype::float64, size, {array, {0, 2}}, {size, {0, 0}})(y.data(), x.data(), threads);
  for (std::size_t row = 0; row < 3000; ++row)
    for (std::size_t i = 0; i < 40; ++i)
      ASSERT_EQ(y[row * 40 + i], i < 2 || i == 39 ? -1 : x[row * 37 + i - 2]) << row << ' ' << i;
}

TEST(elements, of_no_bytes_are_copied_and_cleared) {
  copy_elements(dtype::float32, nullptr, nullptr, 0);
  clear_elements(dtype::float32, nullptr, 0);
  std::string s[] = {"a", "b"};
  clear_elements(dtype::string, s, 2);
  EXPECT_EQ(s[0] + s[1], "");
  std::int16_t n[] = {1, 2, 3};
  clear_elements(dtype::int16, n, 2);
  EXPECT_EQ(n[1], 0);
  EXPECT_EQ(n[2], 3);
}

}  // namespace
}  // namespace rill
