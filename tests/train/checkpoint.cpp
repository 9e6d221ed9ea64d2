#include "rill/train/checkpoint.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "io/scratch.hpp"

namespace rill {
namespace {

checkpoint numbered(std::filesystem::path const& directory, std::int64_t number) {
  checkpoint c{.directory = directory, .number = number};
  c.steps = 1234567890123456789u;
  c.position = {3, 512};
  c.shards["layer/weights"] = c.shard(0, 2);
  c.shards["layer/bias"] = c.shard(1, 2);
  return c;
}

TEST(checkpoint, is_found_by_its_index) {
  scratch place;
  EXPECT_TRUE(checkpoints(place / "nothing").empty());
  for (std::int64_t n : {2, 1, 1234567}) detail::write_index(numbered(place / ".", n));
  for (auto other : {"checkpoint-1.safetensors.index.json", "checkpoint-.safetensors.index.json",
                     "other-000003.safetensors.index.json", "checkpoint-000003.safetensors.index.json.12-0.tmp",
                     "checkpoint-000003.safetensors", "checkpoint-99999999999999999999.safetensors.index.json"})
    write_file(place / other, "{}");
  auto const all = checkpoints(place / ".");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].number, 1);
  EXPECT_EQ(all[2].prefix(), "checkpoint-1234567");
  EXPECT_EQ(all[1].steps, 1234567890123456789u);
  EXPECT_EQ(all[1].position, (batch_position{3, 512}));
  EXPECT_FALSE(all[1].metric);
  EXPECT_EQ(all[1].shards.at("layer/bias"), "checkpoint-000002-00002-of-00002.safetensors");
}

TEST(checkpoint, of_any_damaged_index_is_refused) {
  scratch place;
  auto c = numbered(place / ".", 1);
  c.metric = 0.25;
  detail::write_index(c);
  auto const bytes = read_file(c.index());
  EXPECT_EQ(checkpoints(place / ".")[0].metric, 0.25);
  std::size_t tried = 0;
  auto const refused = damage(bytes, [&](std::string const& damaged) {
    ++tried;
    {
      std::ofstream(c.index(), std::ios::binary) << damaged;
    }
    auto const read = checkpoints(place / ".").at(0);
    EXPECT_EQ(read.shards, c.shards);  // white space was damaged
    EXPECT_EQ(read.steps, c.steps);
  });
  EXPECT_GT(refused, tried * 8 / 10);
}

TEST(checkpoint, does_not_lead_out_of_its_directory) {
  scratch place;
  for (auto file : {"../other.safetensors", "/etc/passwd", "other.safetensors", "checkpoint-000001-/x", ""}) {
    auto c = numbered(place / ".", 1);
    c.shards["x"] = file;
    detail::write_index(c);
    EXPECT_EQ(refusal([&] { checkpoints(place / "."); }), code::data_loss) << file;
  }
}

}  // namespace
}  // namespace rill
