// Checkpoints on disk: safetensors files and an index. The index is written last and completes the checkpoint.
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
#include "rill/run/draw_counts.hpp"
#include "rill/train/batches.hpp"

#if RILL_IO_RUNTIME
#include "rill/io/crc32.hpp"
#include "rill/io/json.hpp"
#endif

namespace rill {

/// A checkpoint, as its index describes it. The index is the file "<name>-<number>.safetensors.index.json", in the
/// format of sharded safetensors that Python libraries read.
struct checkpoint {
  std::filesystem::path directory = {};
  std::string name = "checkpoint";
  std::int64_t number = 0;                         ///< the number in its directory, from 1
  std::uint64_t steps = 0;                         ///< `session::steps` at the time of saving
  batch_position position = {};                    ///< the position in the batches
  std::optional<double> metric = {};               ///< a finite number that selects the best checkpoint
  std::map<std::string, std::string> shards = {};  ///< the file of each tensor
  /// When it was saved, in seconds since the beginning of 1970, if it is kept permanently
  /// (`saver_options::keep_every`).
  std::optional<std::int64_t> kept_at = {};
  std::optional<std::int64_t> trained = {};  ///< the steps of a `training_loop`, if one has saved it
  /// `session::draws` at the time of saving; empty: it was saved by a version that had one count, `steps`.
  std::optional<draw_counts> draws = {};

  /// Returns "<name>-<number>", the prefix of the names of its files.
  std::string prefix() const;
  /// Returns the path of the index.
  std::filesystem::path index() const;
  /// Returns the name of the file of shard `i` (from 0) of `count`. `by`: digits unique to this attempt, if several
  /// processes write it.
  std::string shard(std::size_t i, std::size_t count, std::string const& by = {}) const;
};

namespace detail {

/// Distributes tensors, of `bytes` each, over shards of at most `most` bytes; a larger tensor has a shard of its own.
/// Returns the number of each tensor's shard, from 0.
std::vector<std::size_t> shard_of_each(std::vector<std::uint64_t> const& bytes, std::uint64_t most);

/// Writes the index, which completes a checkpoint whose shards are on disk.
void write_index(checkpoint const& c);

/// Reads the index of `c`. Throws error(data_loss) if it is damaged or names a file outside its checkpoint.
checkpoint read_index(checkpoint c);

/// Whether the file name is `name` followed by `pattern`, where '#' matches one or more digits.
bool matches(std::string_view file, std::string_view name, std::string_view pattern);

/// Returns the checkpoints of that name in a directory, the oldest first, without reading their indices.
std::vector<checkpoint> numbered_checkpoints(std::filesystem::path const& directory, std::string const& name);

}  // namespace detail

/// Returns the checkpoints of that name in a directory, the oldest first; empty if the directory does not exist. Throws
/// error(data_loss) that names a damaged index; after removing that file the other checkpoints are listed.
std::vector<checkpoint> checkpoints(std::filesystem::path const& directory, std::string const& name = "checkpoint");

#if RILL_IO_RUNTIME

RILL_IO_INLINE std::string checkpoint::prefix() const try {
  char digits[24];
  std::snprintf(digits, sizeof digits, "-%06lld", static_cast<long long>(number));
  return name + digits;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::filesystem::path checkpoint::index() const try {
  return directory / (prefix() + ".safetensors.index.json");
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::string checkpoint::shard(std::size_t i, std::size_t count, std::string const& by) const try {
  char part[48];
  std::snprintf(part, sizeof part, "-%05zu-of-%05zu", i + 1, count);
  return prefix() + part + (by.empty() ? "" : "." + by) + ".safetensors";
} catch (...) {
  rethrow_as_error();
}

namespace detail {

/// The members of an object in an index. No value is an object or a list, because nlohmann-json allocates memory to
/// destroy these, and ends the program if it can't.
using index_members = std::map<std::string, nlohmann::json>;

/// Returns a JSON object whose values are JSON texts: one member per line, indented by `depth` + 1 spaces, or all
/// members in one line without `depth`.
RILL_IO_INLINE std::string object_text(std::map<std::string, std::string> const& values,
                                       std::optional<std::size_t> depth) {
  if (values.empty()) return "{}";
  auto const line = depth ? "\n" + std::string(*depth + 1, ' ') : std::string();
  std::string text = "{";
  for (auto const& [name, value] : values)
    text += (text.size() > 1 ? "," : "") + line + nlohmann::json(name).dump() + (depth ? ": " : ":") + value;
  if (depth) text += "\n" + std::string(*depth, ' ');
  return text + "}";
}

/// The objects of an index, by name.
using index_objects = std::map<std::string, index_members>;

/// Returns the objects of an index as JSON texts.
RILL_IO_INLINE std::map<std::string, std::string> object_texts(index_objects const& objects,
                                                               std::optional<std::size_t> depth) {
  std::map<std::string, std::string> all;
  for (auto const& [name, members] : objects) {
    std::map<std::string, std::string> texts;
    for (auto const& [key, member] : members) texts[key] = member.dump();
    all[name] = object_text(texts, depth);
  }
  return all;
}

RILL_IO_INLINE std::string index_checksum(index_objects const& objects) {
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", static_cast<unsigned>(crc32(object_text(object_texts(objects, {}), {}))));
  return sum;
}

RILL_IO_INLINE std::vector<std::size_t> shard_of_each(std::vector<std::uint64_t> const& bytes, std::uint64_t most) {
  std::vector<std::size_t> shards;
  std::uint64_t sum = 0;
  for (auto const each : bytes) {
    bool const is_new = !shards.empty() && sum + each > most;
    shards.push_back(shards.empty() ? 0 : shards.back() + (is_new ? 1 : 0));
    sum = is_new ? each : sum + each;
  }
  return shards;
}

RILL_IO_INLINE void write_index(checkpoint const& c) try {
  index_objects objects;
  auto& metadata = objects["metadata"];
  metadata["steps"] = c.steps;
  metadata["epoch"] = c.position.epoch;
  metadata["index"] = c.position.index;
  if (c.metric) metadata["metric"] = *c.metric;
  if (c.kept_at) metadata["kept_at"] = *c.kept_at;
  if (c.trained) metadata["trained"] = *c.trained;
  auto& shards = objects["weight_map"];
  for (auto const& [tensor, file] : c.shards) shards[tensor] = file;
  if (c.draws) {
    metadata["first_draw"] = c.draws->first;
    for (auto const& [client, n] : c.draws->training) objects["training_draws"][client] = n;
    for (auto const& [client, n] : c.draws->others) objects["other_draws"][client] = n;
  }
  auto texts = object_texts(objects, 1);
  texts["crc32"] = '"' + index_checksum(objects) + '"';
  write_file(c.index(), object_text(texts, 0) + "\n");
} catch (nlohmann::json::exception const&) {
  throw error(code::invalid_argument,
              "the name of the index '" + c.index().string() + "', or a name in it, is not UTF-8");
}

/// Collects the objects of an index during parsing. Refuses nesting deeper than an index has.
class index_events : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string checksum;
  index_objects objects;

  bool start_object(std::size_t) override {
    if (++depth_ > 2) refuse("its objects are nested too deep");
    if (depth_ == 2) inner_ = &objects.emplace(top_, index_members()).first->second;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    (depth_ == 1 ? top_ : field_) = name;
    bool const repeated =
        depth_ == 1 ? objects.contains(name) || (name == "crc32" && !checksum.empty()) : inner_->contains(name);
    if (repeated) refuse("its key '" + name + "' occurs twice");
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ != 1 || top_ != "crc32") return take(text);
    checksum = text;
    return true;
  }
  bool number_unsigned(std::uint64_t n) override { return take(n); }
  bool number_integer(std::int64_t n) override { return take(n); }
  bool number_float(double x, std::string const&) override { return take(x); }
  bool boolean(bool b) override { return take(b); }
  bool null() override { return take(nullptr); }
  bool start_array(std::size_t) override { refuse("it contains a list, which no index has"); }
  bool end_array() override { return true; }
  bool binary(binary_t&) override { refuse("it contains binary data, which no index has"); }
  bool parse_error(std::size_t at, std::string const&, nlohmann::detail::exception const&) override {
    refuse("it is not valid JSON at byte " + std::to_string(at));
  }

 private:
  [[noreturn]] static void refuse(std::string const& why) { throw error(code::data_loss, why); }
  template <class Value> bool take(Value const& value) {
    if (depth_ != 2) refuse(depth_ == 0 ? "it is not an object" : "its '" + top_ + "' is not an object");
    (*inner_)[field_] = value;
    return true;
  }

  int depth_ = 0;
  std::string top_, field_;
  index_members* inner_ = nullptr;
};

/// Returns the member `name` of an index or of an object in it. Throws error(data_loss) if it is missing.
template <class Members> auto const& index_member(Members const& members, std::string const& name) {
  auto const at = members.find(name);
  if (at == members.end()) throw error(code::data_loss, "it has no '" + name + "'");
  return at->second;
}

/// Reads a count from an object of an index. Throws error(data_loss) unless it is a whole number from 0 to 2^63 - 1.
template <class Count> void read_count(index_members const& members, std::string const& name, Count& count) {
  auto const& n = index_member(members, name);
  if (!n.is_number_unsigned() || n.template get<std::uint64_t>() > INT64_MAX)
    throw error(code::data_loss, "its '" + name + "' is " + n.dump() + ", not a whole number from 0 to 2^63 - 1");
  n.get_to(count);
}

/// Reads the counts of draws; empty if the index has none.
RILL_IO_INLINE std::optional<draw_counts> read_draws(index_objects const& objects) {
  auto const& metadata = index_member(objects, "metadata");
  if (!metadata.contains("first_draw")) return {};
  draw_counts draws;
  read_count(metadata, "first_draw", draws.first);
  for (auto const& [name, to] : {std::pair{"training_draws", &draws.training}, {"other_draws", &draws.others}})
    if (auto const at = objects.find(name); at != objects.end())
      for (auto const& [client, _] : at->second) read_count(at->second, client, (*to)[client]);
  return draws;
}

RILL_IO_INLINE checkpoint read_index(checkpoint c) {
  auto const path = c.index();
  auto const refuse = [&](std::string const& why) -> error {
    return error(code::data_loss, "the checkpoint's index '" + path.string() + "' is damaged: " + why);
  };
  auto const text = read_file(path, std::uint64_t{1} << 28);
  try {
    index_events events;
    json::parse_events(text, events);
    if (events.checksum != index_checksum(events.objects)) throw error(code::data_loss, "its checksum is wrong");
    auto const& metadata = index_member(events.objects, "metadata");
    read_count(metadata, "steps", c.steps);
    read_count(metadata, "epoch", c.position.epoch);
    read_count(metadata, "index", c.position.index);
    if (auto const at = metadata.find("metric"); at != metadata.end() && !at->second.is_null())
      c.metric = at->second.get<double>();
    if (metadata.contains("kept_at")) read_count(metadata, "kept_at", c.kept_at.emplace());
    if (metadata.contains("trained")) read_count(metadata, "trained", c.trained.emplace());
    c.draws = read_draws(events.objects);
    c.shards.clear();
    for (auto const& [tensor, file] : index_member(events.objects, "weight_map"))
      c.shards[tensor] = file.get<std::string>();
  } catch (nlohmann::json::exception const& e) {
    throw refuse(e.what());
  } catch (error const& e) {
    throw refuse(e.message());
  }
  for (auto const& [tensor, file] : c.shards)
    if (file.find('/') != file.npos || !file.starts_with(c.prefix() + "-"))
      throw refuse("it lists '" + file + "', which is not a file of this checkpoint");
  return c;
}

RILL_IO_INLINE bool matches(std::string_view file, std::string_view name, std::string_view pattern) {
  if (!file.starts_with(name)) return false;
  file.remove_prefix(name.size());
  for (char c : pattern) {
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
    if (!matches(file, name, "-#.safetensors.index.json")) continue;
    checkpoint c{.directory = directory, .name = name};
    std::from_chars(file.data() + name.size() + 1, file.data() + file.size(), c.number);
    if (c.number < INT64_MAX && c.index().filename() == file)
      all.push_back(std::move(c));  // so that the next number exists too
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
