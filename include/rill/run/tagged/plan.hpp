// A subgraph of primitives as flat arrays: for each frame the plan of one iteration, and the edges of tokens.
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

/// The plan of tagged execution. It never changes. Nodes that run, or are dead, together form a block; tokens go to
/// blocks.
struct tagged_plan {
  using instruction_id = plan::instruction_id;
  using kept_id = plan::kept_id;
  enum class frame_id : std::uint32_t {};
  enum class block_id : std::uint32_t {};  ///< of a frame, as all that follow
  enum class operation_id : std::uint32_t {};
  enum class edge_id : std::uint32_t {};
  enum class merge_id : std::uint32_t {};
  enum class constant_id : std::uint32_t {};  ///< a value that comes to all iterations
  enum class leaving_id : std::uint32_t {};   ///< an operation by which tokens leave it
  static constexpr frame_id outermost{};
  /// The port of an edge along which every token goes.
  static constexpr std::uint8_t either = 2;
  /// The unit in which a block counts tokens: the two lowest bits of a count are flags.
  static constexpr std::uint32_t token = 4;

  /// A value that is copied from one place to another.
  struct move {
    kept_id read = no_index<kept_id>;
    instruction_id instruction = no_index<instruction_id>;  ///< which has room for it
    std::size_t bytes = 0;
    bool strings = false;

    static move of(type const& t, kept_id read = no_index<kept_id>) {
      return {read, no_index<instruction_id>, t.is_known() ? t.bytes() : 0, t.element == dtype::string};
    }
  };
  enum class act : std::uint8_t {
    call,     ///< calls a kernel
    enter,    ///< sends a token into a frame
    exit,     ///< sends a token out of the frame
    collect,  ///< copies a value into a row outside of the frame
    count,    ///< counts the tokens that came, for a value outside of the frame
    next,     ///< sends a token to a merge in the next iteration
  };
  struct operation {
    act what = act::call;
    bool constant = false;                             ///< of enter: in all iterations
    bool backwards = false;                            ///< of collect
    bool saved = false;                                ///< of collect: for a derivative
    plan::feed_id argument = no_index<plan::feed_id>;  ///< of enter: which the value is there
    move value = {};                                   ///< of call: its instruction
    frame_id frame = no_index<frame_id>;               ///< to which a token goes, and
    block_id block = no_index<block_id>;               ///< the block there
    constant_id number = no_index<constant_id>;        ///< of enter: if it is constant
    kept_id rows = no_index<kept_id>;                  ///< of collect backwards: how many rows there are
    leaving_id place = no_index<leaving_id>;           ///< of what leaves the frame
    std::uint32_t node = 0;                            ///< of the subgraph
  };
  struct edge {
    block_id to;
    kept_id asked = no_index<kept_id>;  ///< the kept value that says whether a token takes it, and
    std::uint8_t port = either;         ///< what it must say
    std::uint32_t input = 0;            ///< of a merge: which
  };
  struct block {
    operation_id first = {}, last = {};       ///< the operations from `first` to before `last`
    edge_id first_edge = {}, last_edge = {};  ///< the same of the edges along which tokens go after them
    std::uint32_t node = 0;                   ///< its first, of the subgraph
    merge_id merge = no_index<merge_id>;      ///< if it begins with one
    bool slow = false;                        ///< its first kernel may take long: others go on meanwhile
    bool waits = false;                       ///< or waits
    bool enters = false;                      ///< another frame, be it with dead tokens
    bool ends = false;                        ///< nothing comes of dead tokens
  };
  struct merge {
    move value;
    std::vector<kept_id> reads;  ///< of each input
  };
  struct constant {
    plan::feed_id argument = no_index<plan::feed_id>;
    block_id block = no_index<block_id>;  ///< to which a token comes in each iteration; `no_index`: nobody waits for it
  };
  struct frame {
    std::string name;
    frame_id outer = no_index<frame_id>;
    std::int64_t parallel = 10;
    std::unique_ptr<rill::plan> plan;  ///< of one iteration
    indexed<operation_id, operation> operations;
    indexed<block_id, block> blocks;
    indexed<edge_id, edge> edges;
    indexed<merge_id, merge> merges;
    std::uint32_t enters = 0;                   ///< how many lead to it, and
    indexed<constant_id, constant> constants;   ///< those of them that come to all iterations
    indexed<leaving_id, operation_id> leaving;  ///< operations that exit, collect or count
    std::vector<block_id> sources;              ///< blocks that wait for nothing
    indexed<block_id, std::uint32_t> counts;    ///< of the tokens that each block waits for
    /// Its first iteration begins when all constants have come, which blocks then need not wait for. All that enters a
    /// loop is dead, or nothing is; where somebody wrote the primitives by hand it may not be so.
    bool gated = false;
    bool calls = false;  ///< whether it is a function's body
  };
  struct output {
    kept_id kept = no_index<kept_id>;     ///< of the outermost frame
    block_id block = no_index<block_id>;  ///< that makes it; `no_index`: it is a constant
    edge way = {no_index<block_id>};      ///< by which it comes from there
    type of;
  };

  indexed<frame_id, frame> frames;  ///< the first is the outermost, each after that around it
  std::vector<output> outputs;
  lowered source;  ///< has the names and places of nodes, for errors
  allocator* memory = nullptr;
};

}  // namespace rill
