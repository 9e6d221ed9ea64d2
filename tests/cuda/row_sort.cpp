#include "rill/cuda/row_sort.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "numbers.hpp"
#include "on_stream.hpp"
#include "rill/cuda/text/sort_form.hpp"

namespace rill {
namespace {

struct sorted {
  std::vector<std::int64_t> keys, positions;
  bool operator==(sorted const&) const = default;
};

sorted sorted_here(std::vector<std::int64_t> const& keys) {
  sorted s{keys, std::vector<std::int64_t>(keys.size())};
  std::iota(s.positions.begin(), s.positions.end(), 0);
  std::ranges::sort(s.positions, {}, [&](std::int64_t i) { return std::pair(keys[static_cast<std::size_t>(i)], i); });
  std::ranges::sort(s.keys);
  return s;
}

struct row_sorts : test::on_stream {
  // Sorts by keys of type Count, which is that of counters.
  template <class Count> sorted sorted_there(std::vector<std::int64_t> const& keys, std::int64_t largest) {
    auto const n = static_cast<std::int64_t>(keys.size());
    cuda::row_sort const sort(*on, n, largest, sizeof(Count) == 8);
    auto const memory = memory_there(sort.scratch());
    auto* const at = memory.storage().data();
    write(memory, sort.keys(at), std::vector<Count>(keys.begin(), keys.end()));
    run([&] { sort(at); });
    auto const found = read<Count>(memory, sort.sorted_keys(at), keys.size());
    auto const positions = read<Count>(memory, sort.sorted_positions(at), keys.size());
    return {{found.begin(), found.end()}, {positions.begin(), positions.end()}};
  }
  void compare(std::vector<std::int64_t> const& keys, std::int64_t largest) {
    auto const expected = sorted_here(keys);
    for (auto const order : test::thread_orders()) {
      test::set_thread_order(order);
      auto const of = std::to_string(keys.size()) + " keys up to " + std::to_string(largest);
      EXPECT_EQ(sorted_there<std::uint32_t>(keys, largest), expected) << of;
      EXPECT_EQ(sorted_there<std::uint64_t>(keys, largest), expected) << of << ", 64 bits";
    }
  }
};

// One digit, two, three and four; blocks that are full, and not.
TEST_F(row_sorts, keep_the_order_of_equal_keys) {
  for (std::int64_t const largest : {1, 255, 256, 70'000, INT32_MAX - 1})
    for (std::int64_t const n : {0, 1, 2, 33, cuda::sorted_by_block, 2 * cuda::sorted_by_block + 77}) {
      std::vector<std::int64_t> keys;
      for (std::int64_t i = 0; i < n; ++i) keys.push_back(i * i * 7919 % 13 * (largest / 13 + 1) % (largest + 1));
      compare(keys, largest);
    }
}
TEST_F(row_sorts, keep_all_in_order_if_all_keys_are_equal) {
  compare(std::vector<std::int64_t>(700, 3), 9);
  compare(std::vector<std::int64_t>(700, 9), 9);
}
TEST_F(row_sorts, reverse_keys_that_descend) {
  std::vector<std::int64_t> keys(1000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = 999 - static_cast<std::int64_t>(i);
  compare(keys, 999);
}
TEST_F(row_sorts, by_numbers_beyond_32_bits_have_64_bits) {
  std::vector<std::int64_t> keys;
  for (std::int64_t i = 0; i < 500; ++i) keys.push_back((499 - i) / 2 << 33 | i % 3);
  EXPECT_EQ(sorted_there<std::uint64_t>(keys, std::int64_t{1} << 42), sorted_here(keys));
}

}  // namespace
}  // namespace rill
