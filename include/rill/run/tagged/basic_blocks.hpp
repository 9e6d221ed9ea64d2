// Forms basic blocks: nodes of a frame that run, or are dead, together. The walk counts tokens for blocks, not for
// nodes.
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

/// The index of a station in its frame.
enum class station_id : std::uint32_t {};

/// A node in its frame, before blocks are formed. Nodes that lead from one frame to another have one in each.
struct station {
  tagged_plan::operation does;
  bool nothing = false;  ///< has no operation: tokens only pass
  bool heads = false;    ///< begins a block: a merge, an arrival, or a kernel that may take long
  bool merges = false, slow = false;
  bool arrives = false;                                         ///< gets its tokens from another frame
  tagged_plan::kept_id asked = no_index<tagged_plan::kept_id>;  ///< of a switch: the value that decides
  std::uint32_t local = UINT32_MAX;  ///< in the frame's own subgraph: the kernel, or the room for a token
  double nanoseconds = 0;
};
struct station_edge {
  station_id from, to;
  std::uint8_t port;    ///< of a switch: 0 or 1
  std::uint32_t input;  ///< of a merge
};

/// Forms the blocks of a frame. A station joins a block if all its tokens come from that block; if they come through
/// one side of a switch, it joins the block behind that side. Edges lead from earlier to later stations.
class block_builder {
 public:
  using block_id = tagged_plan::block_id;
  using station_list = indexed<station_id, station>;

  void place(station_list const& stations, std::vector<station_edge> const& edges) {
    indexed<station_id, std::vector<station_edge>> in(stations.size());
    for (auto const& e : edges) in[e.to].push_back(e);
    for (auto s : stations.indices()) place(s, stations, in[s]);
  }
  block_id block_of(station_id s) const { return block_of_[s]; }
  /// By which way tokens of a port of a station come.
  static tagged_plan::edge way(station const& s, std::uint8_t port) {
    if (s.asked == no_index<tagged_plan::kept_id> || port == tagged_plan::either) return {nowhere};
    return {nowhere, s.asked, port};
  }
  void lay(station_list const& stations, tagged_plan::frame& made) const {
    made.counts.resize(members_.size());
    for (auto const& m : members_) {
      auto& b = made.blocks[made.blocks.push_back({})];
      b.first = made.operations.end_index();
      b.first_edge = made.edges.end_index();
      b.node = stations[m.stations[0]].does.node;
      b.slow = stations[m.stations[0]].slow;
      for (auto s : m.stations) {
        auto const& does = stations[s].does;
        if (stations[s].nothing) continue;
        b.enters = b.enters || does.what == tagged_plan::act::enter;
        made.operations.push_back(does);
      }
      for (auto const& e : m.edges) made.edges.push_back(e);
      b.last = made.operations.end_index();
      b.last_edge = made.edges.end_index();
      b.ends = !b.enters && m.edges.empty();
      for (auto const& e : m.edges) made.counts[e.to] += tagged_plan::token;
    }
    for (auto b : members_.indices())
      if (made.counts[b] == 0 && !stations[members_[b].stations[0]].arrives) made.sources.push_back(b);
  }

 private:
  static constexpr auto nowhere = no_index<block_id>;
  struct source {
    block_id block;
    tagged_plan::edge way;
    std::tuple<block_id, tagged_plan::kept_id, std::uint8_t> key() const { return {block, way.asked, way.port}; }
  };
  struct member_list {
    std::vector<station_id> stations;
    std::vector<tagged_plan::edge> edges;
    double nanoseconds = 0;
  };

  void place(station_id s, station_list const& stations, std::vector<station_edge> const& in) {
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
    auto const b = members_.push_back({{s}, {}, st.slow ? 0 : st.nanoseconds});
    block_of_.push_back(b);
    for (std::size_t k = 0; k < from.size(); ++k)
      members_[from[k].block].edges.push_back({b, from[k].way.asked, from[k].way.port, inputs[k]});
    if (follows) behind_[from[0].key()] = b;
  }
  bool join(station_id s, station const& st, source const& from) {
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

  indexed<station_id, block_id> block_of_;
  indexed<block_id, member_list> members_;
  // The last block that one leads to and nobody else does, by each way.
  std::map<decltype(source{}.key()), block_id> behind_;
};

}  // namespace rill::detail
#endif
