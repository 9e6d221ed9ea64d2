#include "rill/train/checkpoint.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>

#include "io/scratch.hpp"
#include "rill/io/crc32.hpp"
#include "rill/io/json.hpp"

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

TEST(checkpoint, with_any_damaged_index_is_refused) {
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
    EXPECT_EQ(read.shards, c.shards);  // only white space was damaged
    EXPECT_EQ(read.steps, c.steps);
  });
  EXPECT_GT(refused, tried * 8 / 10);
}

TEST(checkpoint, does_not_name_files_outside_its_directory) {
  scratch place;
  for (auto file : {"../other.safetensors", "/etc/passwd", "other.safetensors", "checkpoint-000001-/x", ""}) {
    auto c = numbered(place / ".", 1);
    c.shards["x"] = file;
    detail::write_index(c);
    EXPECT_EQ(refusal([&] { checkpoints(place / "."); }), code::data_loss) << file;
  }
}

// Writes an index with the given metadata and a valid checksum, as an attacker could.
void write_words(checkpoint const& c, nlohmann::json const& words, nlohmann::json const& map) {
  nlohmann::json j{{"metadata", words}, {"weight_map", map}};
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", static_cast<unsigned>(crc32(j.dump())));
  j["crc32"] = sum;
  write_file(c.index(), j.dump());
}

// As nlohmann-json writes a tree of the same values: what reads one such tree reads all indices.
TEST(checkpoint, has_an_index_of_the_bytes_that_a_library_for_json_writes) {
  scratch place;
  for (auto const& metric : {std::optional<double>(), std::optional(0.1), std::optional(-3.0), std::optional(1e300)})
    for (bool const empty : {false, true}) {
      auto c = numbered(place / ".", 1);
      c.metric = metric;
      c.shards["a \"quoted\" \\ name\t\n\x01\x1f\x7f of \u00e9\u6f22\U0001f600/"] = c.shard(0, 2);
      if (empty) c.shards.clear();
      detail::write_index(c);
      nlohmann::json j{{"weight_map", c.shards},
                       {"metadata", {{"steps", c.steps}, {"epoch", c.position.epoch}, {"index", c.position.index}}}};
      if (metric) j["metadata"]["metric"] = *metric;
      char sum[9];
      std::snprintf(sum, sizeof sum, "%08x", static_cast<unsigned>(crc32(j.dump())));
      j["crc32"] = sum;
      EXPECT_EQ(read_file(c.index()), j.dump(1) + "\n");
      auto const read = checkpoints(place / ".").at(0);
      EXPECT_EQ(read.shards, c.shards);
      EXPECT_EQ(read.metric, c.metric);
    }
}

TEST(checkpoint, of_an_index_with_a_key_twice_or_without_one_is_refused) {
  scratch place;
  checkpoint const c{.directory = place / ".", .number = 1};
  for (auto const& [text, why] : std::initializer_list<std::pair<char const*, char const*>>{
           {R"({"crc32":"0","crc32":"0"})", "its key 'crc32' occurs twice"},
           {R"({"metadata":{},"metadata":{}})", "its key 'metadata' occurs twice"},
           {R"({"metadata":{"steps":1,"steps":2}})", "its key 'steps' occurs twice"},
           {R"({"metadata":1})", "its 'metadata' is not an object"},
           {R"({"crc32":"a3830a0a","x":{}})", "its checksum is wrong"},
           {R"(1)", "it is not an object"},
           {R"({"metadata")", "it is not valid JSON at byte"}}) {
    write_file(c.index(), text);
    auto const said = sentence([&] { checkpoints(place / "."); });
    EXPECT_TRUE(said.starts_with("data_loss: ")) << said;
    EXPECT_NE(said.find(why), said.npos) << said;
  }
  auto const sum = [](std::string const& body) {
    char text[9];
    std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(crc32(body)));
    return std::string(text);
  };
  write_file(c.index(), R"({"crc32":")" + sum(R"({"metadata":{}})") + R"(","metadata":{}})");
  EXPECT_NE(sentence([&] { checkpoints(place / "."); }).find("it has no 'steps'"), std::string::npos);
}

TEST(checkpoint, with_an_index_nested_a_hundred_thousand_times_is_refused) {
  scratch place;
  checkpoint const c{.directory = place / ".", .number = 1};
  auto const deep = [](std::string const& open, std::string const& close) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += open;
    text += "1";
    for (int i = 0; i < 100'000; ++i) text += close;
    return text;
  };
  for (auto const& nested : {deep("[", "]"), deep("{\"a\":", "}")})
    for (auto const& text : {nested, "{\"crc32\":\"00000000\",\"metadata\":{\"steps\":" + nested + "}}",
                             "{\"crc32\":\"00000000\",\"x\":" + nested + "}", nested.substr(0, nested.size() / 2)}) {
      write_file(c.index(), text);
      EXPECT_EQ(refusal([&] { checkpoints(place / "."); }), code::data_loss) << text.substr(0, 50);
    }
}

TEST(checkpoint, takes_only_whole_numbers_as_steps_epochs_and_indices) {
  scratch place;
  checkpoint const c{.directory = place / ".", .number = 1};
  nlohmann::json const good{{"steps", 7}, {"epoch", INT64_MAX}, {"index", 0}};
  write_words(c, good, nlohmann::json::object());
  EXPECT_EQ(checkpoints(place / ".").at(0).position.epoch, INT64_MAX);
  for (auto const* name : {"steps", "epoch", "index"})
    for (nlohmann::json const& bad :
         {nlohmann::json(1e300), nlohmann::json(-1), nlohmann::json(1.5), nlohmann::json(1e19),
          nlohmann::json(10'000'000'000'000'000'000u), nlohmann::json(true), nlohmann::json("7"), nlohmann::json()}) {
      auto words = good;
      words[name] = bad;
      write_words(c, words, nlohmann::json::object());
      auto const said = sentence([&] { checkpoints(place / "."); });
      EXPECT_TRUE(said.starts_with("data_loss: ")) << name << " of " << bad << ": " << said;
      EXPECT_NE(said.find("its '" + std::string(name) + "' is " + bad.dump() + ", not a whole number"), said.npos)
          << said;
    }
}

}  // namespace
}  // namespace rill
