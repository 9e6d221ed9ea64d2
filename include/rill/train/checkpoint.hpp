// Checkpoints on the disk: safetensors files and an index, which is written last and makes them a checkpoint.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rill/io/file.hpp"
#include "rill/train/batches.hpp"

#if RILL_IO_RUNTIME
#include "rill/io/crc32.hpp"
#include "rill/io/json.hpp"
#endif

namespace rill {

/// What the index of a checkpoint says. The file is "<name>-<number>.safetensors.index.json", in the form in which
/// Python libraries look for sharded safetensors.
struct checkpoint {
  std::filesystem::path directory = {};
  std::string name = "checkpoint";
  std::int64_t number = 0;                         ///< counts a directory's checkpoints, from 1
  std::uint64_t steps = 0;                         ///< `session::steps` when it was saved
  batch_position position = {};                    ///< of the batches
  std::optional<double> metric = {};               ///< by which the best one is known; a finite number
  std::map<std::string, std::string> shards = {};  ///< the file of each tensor

  std::string prefix() const;
  std::filesystem::path index() const { return directory / (prefix() + ".safetensors.index.json"); }
  /// The file of shard `i` of `count`.
  std::string shard(std::size_t i, std::size_t count) const;
};

namespace detail {

/// Makes a checkpoint of shards that are on the disk.
void write_index(checkpoint const& c);

/// Reads an index; error(data_loss) if it is damaged. Nothing that it says leads out of its directory.
checkpoint read_index(checkpoint c);

/// Whether a file is called `name` and then as `form` says, where '#' stands for digits.
bool has_form(std::string_view file, std::string_view name, std::string_view form);

/// The checkpoints of that name in a directory, the oldest first, of whose indices nothing was read yet.
std::vector<checkpoint> numbered_checkpoints(std::filesystem::path const& directory, std::string const& name);

}  // namespace detail

/// The checkpoints of that name in a directory, the oldest first; none if there is no such directory. error(data_loss)
/// names an index that is damaged: without that file, the others are listed.
std::vector<checkpoint> checkpoints(std::filesystem::path const& directory, std::string const& name = "checkpoint");

#if RILL_IO_RUNTIME

RILL_IO_INLINE std::string checkpoint::prefix() const {
  char digits[24];
  std::snprintf(digits, sizeof digits, "-%06lld", static_cast<long long>(number));
  return name + digits;
}

RILL_IO_INLINE std::string checkpoint::shard(std::size_t i, std::size_t count) const {
  char part[48];
  std::snprintf(part, sizeof part, "-%05zu-of-%05zu", i + 1, count);
  return prefix() + part + ".safetensors";
}

namespace detail {

RILL_IO_INLINE std::string index_checksum(nlohmann::json const& content) {
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", static_cast<unsigned>(crc32(content.dump())));
  return sum;
}

RILL_IO_INLINE void write_index(checkpoint const& c) try {
  nlohmann::json j;
  j["weight_map"] = c.shards;
  auto& words = j["metadata"];
  words["steps"] = c.steps;
  words["epoch"] = c.position.epoch;
  words["index"] = c.position.index;
  if (c.metric) words["metric"] = *c.metric;
  j["crc32"] = index_checksum(j);
  write_file(c.index(), j.dump(1) + "\n");
} catch (nlohmann::json::exception const&) {
  throw error(code::invalid_argument, "the name of the checkpoint '" + c.index().string() + "' is not UTF-8");
}

/// The JSON of an index, in which nothing stands deeper than the file of a tensor: what is nested goes through
/// functions that call themselves when it is written or destroyed, as deep as it is.
RILL_IO_INLINE nlohmann::json parse_index(std::string const& text) {
  return nlohmann::json::parse(text, [](int depth, nlohmann::json::parse_event_t event, nlohmann::json&) {
    using at = nlohmann::json::parse_event_t;
    if (event == at::array_start) throw error(code::data_loss, "a list stands where none may");
    if (event == at::object_start && depth > 1) throw error(code::data_loss, "objects stand too deep");
    return true;
  });
}

/// A count in an index.
template <class Count> void read_count(nlohmann::json const& words, char const* name, Count& count) {
  auto const& n = words.at(name);
  if (!n.is_number_unsigned() || n.get<std::uint64_t>() > INT64_MAX)
    throw error(code::data_loss,
                "its '" + std::string(name) + "' is " + n.dump() + ", no whole number from 0 to 2^63 - 1");
  n.get_to(count);
}

RILL_IO_INLINE checkpoint read_index(checkpoint c) {
  auto const path = c.index();
  auto const refuse = [&](std::string const& why) -> error {
    return error(code::data_loss, "the checkpoint's index '" + path.string() + "' is damaged: " + why);
  };
  auto const text = read_file(path, std::uint64_t{1} << 28);
  try {
    auto j = parse_index(text);
    auto const sum = j.at("crc32").get<std::string>();
    j.erase("crc32");
    if (sum != index_checksum(j)) throw error(code::data_loss, "its checksum is wrong");
    auto const& words = j.at("metadata");
    read_count(words, "steps", c.steps);
    read_count(words, "epoch", c.position.epoch);
    read_count(words, "index", c.position.index);
    if (words.contains("metric") && !words.at("metric").is_null()) c.metric = words.at("metric").get<double>();
    j.at("weight_map").get_to(c.shards);
  } catch (nlohmann::json::exception const& e) {
    throw refuse(e.what());
  } catch (error const& e) {
    throw refuse(e.message());
  }
  for (auto const& [tensor, file] : c.shards)
    if (file.find('/') != file.npos || !file.starts_with(c.prefix() + "-"))
      throw refuse("it names a file that is not its own");
  return c;
}

RILL_IO_INLINE bool has_form(std::string_view file, std::string_view name, std::string_view form) {
  if (!file.starts_with(name)) return false;
  file.remove_prefix(name.size());
  for (char c : form) {
    bool const digit = c == '#';
    std::size_t n = 0;
    while (n < file.size() && (digit ? file[n] >= '0' && file[n] <= '9' : n == 0 && file[n] == c)) ++n;
    if (n == 0) return false;
    file.remove_prefix(n);
  }
  return file.empty();
}

RILL_IO_INLINE std::vector<checkpoint> numbered_checkpoints(std::filesystem::path const& directory,
                                                            std::string const& name) {
  std::vector<checkpoint> all;
  int failed = 0;
  for (auto const& file : files::names_in(directory, failed)) {
    if (!has_form(file, name, "-#.safetensors.index.json")) continue;
    checkpoint c{.directory = directory, .name = name};
    std::from_chars(file.data() + name.size() + 1, file.data() + file.size(), c.number);
    if (c.number < INT64_MAX && c.index().filename() == file) all.push_back(std::move(c));  // the next has a number too
  }
  std::sort(all.begin(), all.end(), [](checkpoint const& a, checkpoint const& b) { return a.number < b.number; });
  return all;
}

}  // namespace detail

RILL_IO_INLINE std::vector<checkpoint> checkpoints(std::filesystem::path const& directory,
                                                   std::string const& name) try {
  auto all = detail::numbered_checkpoints(directory, name);
  for (auto& c : all) c = detail::read_index(std::move(c));
  return all;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
