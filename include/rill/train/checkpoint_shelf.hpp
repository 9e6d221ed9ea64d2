// Which checkpoints of a directory stay, and what goes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "rill/train/checkpoint.hpp"

namespace rill {

/// Which of two metrics is the better one.
enum class better : std::uint8_t { neither, lower, higher };

namespace detail {

/// The files that a checkpoint's tensors are in, in order.
std::vector<std::string> files_of(checkpoint const& c);

/// The checkpoints of one name in a directory.
struct checkpoint_shelf {
  std::filesystem::path directory;
  std::string name;
  std::size_t keep;
  rill::better better;

  /// The best by its metric; nothing where none has one, or none is better than another.
  std::optional<checkpoint> best_of(std::vector<checkpoint> const& all) const;
  /// Removes all but the last `keep` and the best. An index goes first, so that none is ever without its files.
  void drop_old() const;
  /// Removes what a program left that was killed: temporaries, and files that belong to no checkpoint.
  void sweep(std::vector<checkpoint> const& whole) const;

 private:
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

RILL_IO_INLINE std::optional<checkpoint> checkpoint_shelf::best_of(std::vector<checkpoint> const& all) const {
  std::optional<checkpoint> found;
  if (better == better::neither) return found;
  bool const higher = better == better::higher;
  for (auto const& c : all)
    if (c.metric && (!found || (higher ? *c.metric >= *found->metric : *c.metric <= *found->metric))) found = c;
  return found;
}

RILL_IO_INLINE void checkpoint_shelf::drop_old() const {
  std::vector<checkpoint> all;
  for (auto const& c : numbered_checkpoints(directory, name)) {
    try {
      all.push_back(read_index(c));
    } catch (error const&) {  // a damaged one
    }
  }
  if (all.size() <= keep) return;
  auto const kept = best_of(all);
  for (std::size_t i = 0; i + keep < all.size(); ++i) {
    if (kept && kept->number == all[i].number) continue;
    remove(all[i].index());
    for (auto const& file : files_of(all[i])) remove(directory / file);
  }
}

RILL_IO_INLINE void checkpoint_shelf::sweep(std::vector<checkpoint> const& whole) const {
  std::vector<std::filesystem::path> left;
  int failed = 0;
  for (auto const& file : files::names_in(directory, failed)) {
    auto const is = [&](char const* form) { return has_form(file, name, form); };
    bool const owned =
        std::any_of(whole.begin(), whole.end(), [&](auto const& c) { return file.starts_with(c.prefix() + "-"); });
    if ((is("-#-#-of-#.safetensors") && !owned) || is("-#-#-of-#.safetensors.#-#.tmp") ||
        is("-#.safetensors.index.json.#-#.tmp"))
      left.push_back(directory / file);
  }
  if (failed) files::fail("list the directory", directory, failed);
  for (auto const& path : left) remove(path);
}

RILL_IO_INLINE void checkpoint_shelf::remove(std::filesystem::path const& path) {
  std::error_code failed;
  std::filesystem::remove(path, failed);
  if (failed) files::fail("remove", path, failed.value());
}

#endif

}  // namespace detail
}  // namespace rill
