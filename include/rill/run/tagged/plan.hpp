// A part of primitives as flat arrays: for each frame the plan of one iteration, and who hands tokens to whom.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rill/run/plan/plan.hpp"
#include "rill/run/plan/request.hpp"
#include "rill/run/tagged/lowered.hpp"

namespace rill {

/// What tagged execution runs. It never changes. What runs, or is dead, together is a block: a token comes to a block,
/// not to a node.
struct tagged_plan {
  static constexpr std::uint32_t none = UINT32_MAX;
  /// The port of an edge along which every token goes.
  static constexpr std::uint8_t either = 2;
  /// A token as it is counted: below it is room for two flags.
  static constexpr std::uint32_t token = 4;

  /// A value on its way from one place to another.
  struct move {
    std::uint32_t read = none;         ///< the kept value
    std::uint32_t instruction = none;  ///< which has room for it; of what enters: the argument in its place
    std::size_t bytes = 0;
    bool strings = false;

    static move of(type const& t, std::uint32_t read = none) {
      return {read, none, t.is_known() ? t.bytes() : 0, t.element == dtype::string};
    }
  };
  enum class act : std::uint8_t {
    call,     ///< a kernel
    enter,    ///< a frame
    exit,     ///< from one
    collect,  ///< into a row outside of the frame
    count,    ///< of the tokens that came here, for outside of the frame
    next,     ///< to a merge in the next iteration
  };
  struct operation {
    act what = act::call;
    bool constant = false;       ///< of enter: in all iterations
    bool backwards = false;      ///< of collect
    bool saved = false;          ///< of collect: for a derivative
    move value = {};             ///< of call: its instruction
    std::uint32_t frame = none;  ///< to which a token goes, and
    std::uint32_t block = none;  ///< the block there
    std::uint32_t number =
        none;                    ///< of enter: among the constants; of collect backwards: kept, how many rows there are
    std::uint32_t place = none;  ///< among what leaves the frame
    std::uint32_t node = 0;      ///< of the subgraph
  };
  struct edge {
    std::uint32_t to;
    std::uint32_t asked = none;  ///< the kept value that says whether a token takes it, and
    std::uint8_t port = either;  ///< what it must say
    std::uint32_t input = 0;     ///< of a merge: which
  };
  struct block {
    std::uint32_t first = 0, last = 0;            ///< operations
    std::uint32_t first_edge = 0, last_edge = 0;  ///< and who gets a token after them
    std::uint32_t node = 0;                       ///< its first, of the subgraph
    std::uint32_t merge = none;                   ///< among the frame's merges
    bool slow = false;                            ///< its first kernel may take long: others go on meanwhile
    bool waits = false;                           ///< or waits
    bool enters = false;                          ///< another frame, be it with dead tokens
    bool ends = false;                            ///< nothing comes of dead tokens
  };
  struct merge {
    move value;
    std::vector<std::uint32_t> reads;  ///< kept values, of each input
  };
  struct constant {
    std::uint32_t argument = none;
    std::uint32_t block = none;  ///< to which a token comes in each iteration; none: nobody waits for it
  };
  struct frame {
    std::string name;
    std::uint32_t outer = none;
    std::int64_t parallel = 10;
    std::unique_ptr<rill::plan> plan;  ///< of one iteration
    std::vector<operation> operations;
    std::vector<block> blocks;
    std::vector<edge> edges;
    std::vector<merge> merges;
    std::uint32_t enters = 0;            ///< how many lead to it, and
    std::vector<constant> constants;     ///< those of them that come to all iterations
    std::vector<std::uint32_t> leaving;  ///< operations that exit, collect or count
    std::vector<std::uint32_t> sources;  ///< blocks that wait for nothing
    std::vector<std::uint32_t> counts;   ///< of the tokens that each block waits for
    /// Its first iteration begins when all constants have come, which blocks then need not wait for. All that enters a
    /// loop is dead, or nothing is; where somebody wrote the primitives by hand it may not be so.
    bool gated = false;
    bool calls = false;  ///< it is a function's body
  };
  struct output {
    std::uint32_t kept = none;   ///< of the outermost frame
    std::uint32_t block = none;  ///< that makes it; none: it is a constant
    edge way = {none};           ///< by which it comes from there
    type of;
  };

  std::vector<frame> frames;  ///< the first is the outermost, each after that around it
  std::vector<output> outputs;
  lowered source;  ///< names and places of nodes, for errors
  allocator* memory = nullptr;
};

}  // namespace rill
