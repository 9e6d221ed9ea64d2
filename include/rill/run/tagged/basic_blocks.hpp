// What of a frame runs, or is dead, together, as blocks. The walk counts tokens for those alone.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "rill/run/plan/costs.hpp"
#include "rill/run/tagged/plan.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// A node in its frame, before blocks are formed. Nodes that lead from one frame to another have one in each.
struct station {
  tagged_plan::operation does;
  bool nothing = false;  ///< tokens go on as they came
  bool heads = false;    ///< begins a block: a merge, an arrival, or what may take long
  bool merges = false, slow = false;
  bool arrives = false;                     ///< gets its tokens from another frame
  std::uint32_t asked = tagged_plan::none;  ///< of a switch: the kept value
  std::uint32_t local = tagged_plan::none;  ///< in the frame's own subgraph: the kernel, or the room for a token
  double nanoseconds = 0;
};
struct station_edge {
  std::uint32_t from, to;
  std::uint8_t port;    ///< of a switch: 0 or 1
  std::uint32_t input;  ///< of a merge
};

/// Forms the blocks of a frame. A node all of whose tokens come from one block by one way is part of that block or,
/// where a switch lies between, of the block of all that it leads to. Edges lead from earlier to later stations.
class block_builder {
 public:
  void place(std::vector<station> const& stations, std::vector<station_edge> const& edges) {
    std::vector<std::vector<station_edge>> in(stations.size());
    for (auto const& e : edges) in[e.to].push_back(e);
    for (std::uint32_t s = 0; s < stations.size(); ++s) place(s, stations, in[s]);
  }
  std::uint32_t block_of(std::uint32_t s) const { return block_of_[s]; }
  /// By which way tokens of a port of a station come.
  static tagged_plan::edge way(station const& s, std::uint8_t port) {
    if (s.asked == none || port == tagged_plan::either) return {none};
    return {none, s.asked, port};
  }
  void lay(std::vector<station> const& stations, tagged_plan::frame& made) const {
    auto const position = [](auto const& v) { return static_cast<std::uint32_t>(v.size()); };
    made.counts.resize(members_.size());
    for (auto const& m : members_) {
      auto& b = made.blocks.emplace_back();
      b.first = position(made.operations);
      b.first_edge = position(made.edges);
      b.node = stations[m.stations[0]].does.node;
      b.slow = stations[m.stations[0]].slow;
      for (auto s : m.stations) {
        auto const& does = stations[s].does;
        if (stations[s].nothing) continue;
        b.enters = b.enters || does.what == tagged_plan::act::enter;
        made.operations.push_back(does);
      }
      made.edges.insert(made.edges.end(), m.edges.begin(), m.edges.end());
      b.last = position(made.operations);
      b.last_edge = position(made.edges);
      b.ends = !b.enters && m.edges.empty();
      for (auto const& e : m.edges) made.counts[e.to] += tagged_plan::token;
    }
    for (std::uint32_t b = 0; b < members_.size(); ++b)
      if (made.counts[b] == 0 && !stations[members_[b].stations[0]].arrives) made.sources.push_back(b);
  }

 private:
  static constexpr auto none = tagged_plan::none;
  struct source {
    std::uint32_t block;
    tagged_plan::edge way;
    auto key() const { return std::tuple(block, way.asked, way.port); }
  };
  struct member_list {
    std::vector<std::uint32_t> stations;
    std::vector<tagged_plan::edge> edges;
    double nanoseconds = 0;
  };

  void place(std::uint32_t s, std::vector<station> const& stations, std::vector<station_edge> const& in) {
    auto const& st = stations[s];
    std::vector<source> from;
    std::vector<std::uint32_t> inputs;
    std::set<decltype(source{}.key())> known;
    for (auto const& e : in) {
      source const f{block_of_[e.from], way(stations[e.from], e.port)};
      if (!st.merges && !known.insert(f.key()).second) continue;
      from.push_back(f);
      inputs.push_back(e.input);
    }
    bool const follows = !st.heads && from.size() == 1;
    if (follows && join(s, st, from[0])) return;
    auto const b = static_cast<std::uint32_t>(members_.size());
    members_.push_back({{s}, {}, st.slow ? 0 : st.nanoseconds});
    block_of_.push_back(b);
    for (std::size_t k = 0; k < from.size(); ++k)
      members_[from[k].block].edges.push_back({b, from[k].way.asked, from[k].way.port, inputs[k]});
    if (follows) behind_[from[0].key()] = b;
  }
  bool join(std::uint32_t s, station const& st, source const& from) {
    auto b = from.block;
    if (auto const behind = behind_.find(from.key()); behind != behind_.end()) b = behind->second;
    else if (from.way.port != tagged_plan::either) return false;
    auto& to = members_[b];
    if (to.nanoseconds + st.nanoseconds > costs::longest_block) return false;
    to.nanoseconds += st.nanoseconds;
    to.stations.push_back(s);
    block_of_.push_back(b);
    return true;
  }

  std::vector<std::uint32_t> block_of_;  // stations
  std::vector<member_list> members_;
  // The last block that one leads to and nobody else does, by each way.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint8_t>, std::uint32_t> behind_;
};

}  // namespace rill::detail
#endif
