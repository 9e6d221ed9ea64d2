#include "rill/train/bucket.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/sentence.hpp"

namespace rill {
namespace {

std::vector<std::int64_t> const lengths{5, 1, 9, 10, 3, 7, 2, 8, 0, 4};
std::vector<std::int64_t> const bounds{2, 5, 10};

TEST(bucket_by_length, puts_each_sequence_once_beside_sequences_of_similar_length) {
  std::multiset<std::int64_t> seen;
  for (auto const& b : bucket_by_length(lengths, bounds, 2, 7)) {
    EXPECT_LE(b.which.size(), 2);
    EXPECT_FALSE(b.which.empty());
    for (auto i : b.which) {
      seen.insert(i);
      EXPECT_LE(lengths[static_cast<std::size_t>(i)], b.length);
      EXPECT_GT(lengths[static_cast<std::size_t>(i)], b.length == 2 ? -1 : b.length == 5 ? 2 : 5);
    }
  }
  EXPECT_EQ(seen, (std::multiset<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(bucket_by_length, is_the_same_for_the_same_seed_and_epoch) {
  auto const flat = [](std::uint64_t seed, std::int64_t epoch) {
    std::vector<std::int64_t> all;
    for (auto const& b : bucket_by_length(lengths, bounds, 3, seed, epoch))
      all.insert(all.end(), b.which.begin(), b.which.end());
    return all;
  };
  EXPECT_EQ(flat(1, 0), flat(1, 0));
  EXPECT_NE(flat(1, 0), flat(1, 1));
  EXPECT_NE(flat(1, 0), flat(2, 0));
}

TEST(bucket_by_length, refuses_what_has_no_bucket) {
  std::vector<std::int64_t> const low{2, 5}, falling{5, 2}, none;
  EXPECT_NE(sentence([&] { bucket_by_length(lengths, low, 2); }).find("longer than the last bound, "),
            std::string::npos);
  EXPECT_NE(sentence([&] { bucket_by_length(lengths, falling, 2); }).find("ascending"), std::string::npos);
  EXPECT_NE(sentence([&] { bucket_by_length(lengths, none, 2); }).find("ascending"), std::string::npos);
  EXPECT_NE(sentence([&] { bucket_by_length(lengths, bounds, 0); }).find("expected a batch size above 0, got 0"),
            std::string::npos);
}

}  // namespace
}  // namespace rill
