#include "rill/ops/base/share.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "../threads.hpp"

namespace rill {
namespace {

// How often each index came, and how many runs there were.
std::pair<std::vector<int>, int> covered(int threads, std::ptrdiff_t count, std::ptrdiff_t least) {
  test::thread_loop loop(threads);
  parallel const workers = loop;
  std::vector<int> times(static_cast<std::size_t>(count));
  std::atomic<int> runs = 0;
  kernels::share(workers, count, least, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    ++runs;
    for (auto i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
  });
  return {times, runs};
}

TEST(share, gives_every_index_to_one_run) {
  for (int threads : {1, 2, 5})
    for (std::ptrdiff_t count : {0, 1, 7, 100, 1001})
      for (std::ptrdiff_t least : {1, 3, 100, 5000})
        EXPECT_EQ(covered(threads, count, least).first, std::vector<int>(static_cast<std::size_t>(count), 1));
}

TEST(share, makes_a_few_runs_for_each_thread_and_none_that_is_too_short) {
  EXPECT_EQ(covered(1, 1000, 1).second, 1);
  EXPECT_EQ(covered(2, 1000, 1).second, 8);
  EXPECT_EQ(covered(2, 3, 1).second, 3);
  EXPECT_EQ(covered(2, 1000, 400).second, 2);
  EXPECT_EQ(covered(2, 1000, 5000).second, 1);
}

}  // namespace
}  // namespace rill
