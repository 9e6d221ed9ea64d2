// Decides which checkpoints of a directory are kept, and removes the others.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "rill/train/checkpoint.hpp"

namespace rill {

/// Which of two metrics is better.
enum class better : std::uint8_t { neither, lower, higher };

namespace detail {

/// Returns the names of the files of a checkpoint's tensors, sorted.
std::vector<std::string> files_of(checkpoint const& c);

/// The checkpoints with one name in a directory.
struct checkpoint_retention {
  std::filesystem::path directory;
  std::string name;
  std::size_t keep;
  rill::better better;

  /// Returns the checkpoint with the best metric; nullopt if no checkpoint has a metric or `better` is `neither`.
  std::optional<checkpoint> best_of(std::vector<checkpoint> const& all) const;
  /// Returns `now`, in seconds, if a checkpoint saved now is to be kept permanently, and else nullopt. It is if the
  /// last permanent one is at least `every` old, if there is none, or if its time lies in the future: the clock was set
  /// back.
  std::optional<std::int64_t> kept_at(std::int64_t now, std::chrono::seconds every) const;
  /// Removes all but the newest `keep` checkpoints, the best one, and the permanent ones. Removes an index
  /// before its files, so that a listed checkpoint always has its files.
  void drop_old() const;
  /// Removes files left by a killed program: temporary files, and shards of no checkpoint in `whole`.
  void sweep(std::vector<checkpoint> const& whole) const;

 private:
  std::vector<checkpoint> undamaged() const;
  static void remove(std::filesystem::path const& path);
};

#if RILL_IO_RUNTIME

RILL_IO_INLINE std::vector<std::string> files_of(checkpoint const& c) {
  std::vector<std::string> files;
  for (auto const& [tensor, file] : c.shards) files.push_back(file);
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

RILL_IO_INLINE std::optional<checkpoint> checkpoint_retention::best_of(std::vector<checkpoint> const& all) const {
  std::optional<checkpoint> found;
  if (better == better::neither) return found;
  bool const higher = better == better::higher;
  for (auto const& c : all)
    if (c.metric && (!found || (higher ? *c.metric >= *found->metric : *c.metric <= *found->metric))) found = c;
  return found;
}

RILL_IO_INLINE std::vector<checkpoint> checkpoint_retention::undamaged() const {
  std::vector<checkpoint> all;
  for (auto const& c : numbered_checkpoints(directory, name)) {
    try {
      all.push_back(read_index(c));
    } catch (error const&) {  // a damaged checkpoint is left alone
    }
  }
  return all;
}

RILL_IO_INLINE std::optional<std::int64_t> checkpoint_retention::kept_at(std::int64_t now,
                                                                         std::chrono::seconds every) const {
  if (every.count() <= 0) return {};
  std::optional<std::int64_t> last;
  for (auto const& c : undamaged())
    if (c.kept_at) last = c.kept_at;
  bool const is_due = !last || now < *last || now - *last >= every.count();
  return is_due ? std::optional(now) : std::nullopt;
}

RILL_IO_INLINE void checkpoint_retention::drop_old() const {
  auto const all = undamaged();
  if (all.size() <= keep) return;
  auto const kept = best_of(all);
  for (std::size_t i = 0; i + keep < all.size(); ++i) {
    if (all[i].kept_at || (kept && kept->number == all[i].number)) continue;
    remove(all[i].index());
    for (auto const& file : files_of(all[i])) remove(directory / file);
  }
}

RILL_IO_INLINE void checkpoint_retention::sweep(std::vector<checkpoint> const& whole) const {
  std::vector<std::filesystem::path> left;
  int failed = 0;
  std::set<std::string> files;
  std::vector<std::string> damaged;  // prefixes of checkpoints of which it is not known which files they have
  for (auto const& c : whole) try {
      for (auto const& file : files_of(read_index(c))) files.insert(file);
    } catch (error const&) {
      damaged.push_back(c.prefix() + "-");
    }
  for (auto const& file : files::names_in(directory, failed)) {
    auto const is = [&](char const* pattern) { return matches(file, name, pattern); };
    bool const owned = files.contains(file) || std::any_of(damaged.begin(), damaged.end(), [&](auto const& prefix) {
                         return file.starts_with(prefix);
                       });
    bool const is_shard = is("-#-#-of-#.safetensors") || is("-#-#-of-#.#.safetensors");
    if ((is_shard && !owned) || is("-#-#-of-#.safetensors.#-#.tmp") || is("-#-#-of-#.#.safetensors.#-#.tmp") ||
        is("-#.safetensors.index.json.#-#.tmp"))
      left.push_back(directory / file);
  }
  if (failed) files::fail("list the directory", directory, failed);
  for (auto const& path : left) remove(path);
}

RILL_IO_INLINE void checkpoint_retention::remove(std::filesystem::path const& path) {
  std::error_code failed;
  std::filesystem::remove(path, failed);
  if (failed) files::fail("remove", path, failed.value());
}

#endif

}  // namespace detail
}  // namespace rill
