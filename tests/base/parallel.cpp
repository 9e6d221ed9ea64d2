#include "rill/base/parallel.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace rill {
namespace {

TEST(parallel, runs_every_chunk_on_the_caller_where_there_are_no_threads) {
  std::vector<int> seen(5);
  auto const caller = std::this_thread::get_id();
  parallel const alone;
  alone(seen.size(), [&](std::size_t i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ++seen[i];
  });
  EXPECT_EQ(seen, std::vector<int>(5, 1));
}

TEST(parallel, runs_nothing_for_no_chunks) {
  parallel const alone;
  alone(0, [](std::size_t) { FAIL(); });
}

TEST(parallel, hands_loops_of_more_than_one_chunk_to_who_offers_threads) {
  int handed = 0;
  auto const run = [](void* context, std::size_t chunks, parallel::body body, void* argument) {
    ++*static_cast<int*>(context);
    for (std::size_t i = chunks; i-- > 0;) body(argument, i);
  };
  parallel const offered{run, &handed, 2};
  std::size_t sum = 0;
  offered(4, [&](std::size_t i) { sum += i; });
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(handed, 1);
  offered(1, [&](std::size_t) {});
  EXPECT_EQ(handed, 1);
  parallel const single{run, &handed, 1};
  single(4, [&](std::size_t) {});
  EXPECT_EQ(handed, 1);
}

}  // namespace
}  // namespace rill
