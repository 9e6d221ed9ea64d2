// The values that a task has sent and received last, and those of all tasks of a step in one order, for a report on a
// step that fails on the wire.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/net/messages.hpp"

namespace rill::net {

/// What has happened to a value on its way.
enum class movement_kind : std::uint8_t { sent, acknowledged, asked_for, received };

/// One value of a step that has gone from one task to another, or is to.
struct movement {
  std::chrono::steady_clock::time_point at = {};
  step_id step = {};
  edge_key key = {};
  movement_kind kind = movement_kind::sent;
  device_name peer = {};  ///< the other task; empty: not known yet
  std::uint64_t bytes = 0;

  /// "sent edge 3 (path 0) to /job:ps/task:0, 4 bytes".
  std::string text() const {
    static constexpr char const* verbs[] = {"sent", "heard that it has", "asked for", "received"};
    static constexpr char const* words[] = {" to ", ", ", " from ", " from "};
    auto const k = static_cast<std::size_t>(kind);
    auto const edge = "edge " + std::to_string(key.edge) + " (path " + std::to_string(key.path) + ")";
    auto const whom = peer.empty() ? "" : words[k] + peer.text();
    return std::string(verbs[k]) + " " + edge + whom + (bytes > 0 ? ", " + std::to_string(bytes) + " bytes" : "");
  }
};

/// The last movements of a task. Any thread may use it.
class recent_movements {
 public:
  static constexpr std::size_t most = 1024;

  void add(movement m) {
    m.at = std::chrono::steady_clock::now();
    std::lock_guard lock(mutex_);
    ring_[next_++ % most] = std::move(m);
  }
  /// Returns those of a step, the earliest first.
  std::vector<movement> of(step_id step) const {
    std::vector<movement> all;
    std::lock_guard lock(mutex_);
    for (auto i = next_ > most ? next_ - most : 0; i < next_; ++i)
      if (ring_[i % most].step == step) all.push_back(ring_[i % most]);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::vector<movement> ring_ = std::vector<movement>(most);
};

/// Returns movements as the body of an answer, with how long ago they were; the last of them if they are too many.
inline std::string body_of_movements(std::uint64_t call, std::vector<movement> const& all) {
  moved_body made{.call = call};
  auto const now = std::chrono::steady_clock::now();
  auto const first = all.size() > moved_body::most ? all.size() - moved_body::most : 0;
  for (auto i = first; i < all.size(); ++i)
    made.values.push_back({static_cast<std::uint8_t>(all[i].kind), all[i].key, all[i].peer, all[i].bytes,
                           std::chrono::nanoseconds(now - all[i].at).count()});
  return body_of(made);
}
/// Reads them, as of now. Throws error(data_loss).
inline std::vector<movement> movements_of(std::string_view body) {
  moved_body said;
  read_body(body, said);
  std::vector<movement> all;
  auto const now = std::chrono::steady_clock::now();
  for (auto& v : said.values) {
    if (v.kind > static_cast<std::uint8_t>(movement_kind::received) || all.size() == moved_body::most)
      wire::fail("values have moved as they can't");
    auto const ago = std::chrono::nanoseconds(std::clamp<std::int64_t>(v.ago, 0, std::int64_t{1} << 60));
    all.push_back({.at = now - ago,
                   .key = v.key,
                   .kind = static_cast<movement_kind>(v.kind),
                   .peer = std::move(v.peer),
                   .bytes = v.bytes});
  }
  return all;
}

/// The movements of a step on all its tasks, which come one by one.
class gathered_movements {
 public:
  void add(std::string const& task, std::vector<movement> const& all) {
    std::lock_guard lock(mutex_);
    for (auto const& m : all) lines_.emplace(m.at, task + " " + m.text());
  }
  /// Returns the last of them in the order of their times, as lines that say how long before `end` they were.
  std::string text(std::chrono::steady_clock::time_point end) const {
    std::lock_guard lock(mutex_);
    std::string all;
    auto left_out = lines_.size() > most_lines ? lines_.size() - most_lines : 0;
    for (auto const& [at, line] : lines_) {
      if (left_out > 0 && left_out-- > 0) continue;
      auto const before = std::chrono::duration_cast<std::chrono::microseconds>(end - at).count();
      all += "\n  " + std::to_string(before) + " us before: " + line;
    }
    return all;
  }

 private:
  static constexpr std::size_t most_lines = 60;
  mutable std::mutex mutex_;
  std::multimap<std::chrono::steady_clock::time_point, std::string> lines_;
};

}  // namespace rill::net
