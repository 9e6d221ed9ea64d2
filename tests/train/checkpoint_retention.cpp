#include "rill/train/checkpoint_retention.hpp"

#include <gtest/gtest.h>

#include "io/scratch.hpp"

namespace rill {
namespace {

using detail::checkpoint_retention;

checkpoint written(scratch const& place, std::int64_t number, std::optional<double> metric = {}) {
  checkpoint c{.directory = place / ".", .number = number, .metric = metric};
  for (std::size_t i : {0u, 1u}) {
    c.shards["tensor " + std::to_string(i)] = c.shard(i, 2);
    write_file(c.directory / c.shard(i, 2), "");
  }
  c.shards["another in the first"] = c.shard(0, 2);
  detail::write_index(c);
  return c;
}
std::vector<std::int64_t> numbers(scratch const& place) {
  std::vector<std::int64_t> all;
  for (auto const& c : checkpoints(place / ".")) all.push_back(c.number);
  return all;
}

TEST(checkpoint_retention, lists_each_file_of_a_checkpoint_once) {
  scratch const place;
  auto const c = written(place, 1);
  EXPECT_EQ(detail::files_of(c), (std::vector<std::string>{c.shard(0, 2), c.shard(1, 2)}));
}

TEST(checkpoint_retention, finds_the_best_and_among_equals_the_newest) {
  scratch const place;
  std::vector<checkpoint> all;
  double const metrics[] = {2, 1, 3, 1, 3};
  for (std::int64_t n = 1; n <= 5; ++n) all.push_back({.number = n, .metric = metrics[n - 1]});
  all.push_back({.number = 6});
  EXPECT_EQ((checkpoint_retention{place / ".", "checkpoint", 1, better::lower}.best_of(all)->number), 4);
  EXPECT_EQ((checkpoint_retention{place / ".", "checkpoint", 1, better::higher}.best_of(all)->number), 5);
  EXPECT_FALSE((checkpoint_retention{place / ".", "checkpoint", 1, better::neither}.best_of(all)));
  EXPECT_FALSE((checkpoint_retention{place / ".", "checkpoint", 1, better::lower}.best_of({{.number = 1}})));
}

TEST(checkpoint_retention, drops_the_oldest_checkpoints_with_their_files_except_the_best) {
  scratch const place;
  for (std::int64_t n = 1; n <= 5; ++n) written(place, n, n == 2 ? 0.5 : 1.0);
  checkpoint_retention{place / ".", "checkpoint", 2, better::lower}.drop_old();
  EXPECT_EQ(numbers(place), (std::vector<std::int64_t>{2, 4, 5}));
  EXPECT_EQ(place.entries(), 9u) << "an index and two files each";
  checkpoint_retention{place / ".", "checkpoint", 9, better::lower}.drop_old();
  EXPECT_EQ(numbers(place).size(), 3u);
}

TEST(checkpoint_retention, keeps_one_checkpoint_every_so_often_for_good) {
  scratch const place;
  checkpoint_retention const all{place / ".", "checkpoint", 1, better::neither};
  using std::chrono::seconds;
  EXPECT_FALSE(all.kept_at(100, seconds(0)));
  std::int64_t number = 0;
  for (std::int64_t const now : {100, 130, 159, 160, 161, 300, 299, 330}) {  // the clock is set back once
    auto c = written(place, ++number);
    c.kept_at = all.kept_at(now, seconds(60));
    detail::write_index(c);
    all.drop_old();
  }
  std::vector<std::int64_t> kept;
  for (auto const& c : checkpoints(place / ".")) kept.push_back(c.kept_at.value_or(-1));
  EXPECT_EQ(kept, (std::vector<std::int64_t>{100, 160, 300, 299, -1}));
}

TEST(checkpoint_retention, neither_removes_nor_counts_a_damaged_checkpoint) {
  scratch const place;
  for (std::int64_t n = 1; n <= 3; ++n) written(place, n);
  write_file(written(place, 4).index(), "{");
  checkpoint_retention{place / ".", "checkpoint", 2, better::neither}.drop_old();
  for (std::int64_t n = 1; n <= 4; ++n) {
    checkpoint const c{.directory = place / ".", .number = n};
    EXPECT_EQ(std::filesystem::exists(c.index()), n != 1) << n;
  }
}

TEST(checkpoint_retention, sweeps_only_the_files_that_a_killed_program_left) {
  scratch const place;
  auto const whole = written(place, 1);
  char const* const left[] = {"checkpoint-000002-00001-of-00002.safetensors",
                              "checkpoint-000001-00001-of-00002.safetensors.77-3.tmp",
                              "checkpoint-000002.safetensors.index.json.77-4.tmp"};
  char const* const others[] = {"checkpoint-best.safetensors", "other-000002-00001-of-00002.safetensors", "notes.tmp"};
  for (auto file : left) write_file(place / file, "");
  for (auto file : others) write_file(place / file, "");
  checkpoint_retention{place / ".", "checkpoint", 1, better::neither}.sweep({whole});
  for (auto file : left) EXPECT_FALSE(std::filesystem::exists(place / file)) << file;
  for (auto file : others) EXPECT_TRUE(std::filesystem::exists(place / file)) << file;
  EXPECT_EQ(numbers(place), (std::vector<std::int64_t>{1}));
}

}  // namespace
}  // namespace rill
