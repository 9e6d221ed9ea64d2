// An operation as graphs, passes and executors see it: a table of plain functions.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rill/graph/attribute.hpp"

namespace rill {

class graph;
struct value;
struct node;
struct gradient;
struct gradient_request;
struct subgraph;
class kernel;
struct kernel_request;
class path_finder;

/// For each output of a node the inputs that its derivative reaches.
using path_table = std::vector<std::vector<bool>>;

/// What a call of an operation costs, from its types: read by placement, timelines and microbenchmarks alike.
struct cost {
  double flops = 0;
  double bytes = 0;  ///< read and written
};

/// What an operation is to graphs, passes and executors, where they must know it; most are `ordinary`.
enum class op_kind : std::uint8_t {
  ordinary,
  constant,                  ///< has no inputs; its value is the attribute `constant_value`
  variable,                  ///< has no inputs; lives in the container under the node's name
  placeholder,               ///< has no inputs; each step feeds it
  placeholder_with_default,  ///< is input 0 unless a step feeds it
  identity,                  ///< is input 0
  as,                        ///< is input 0, of whose type it says more; to feed it is to feed input 0
  assign,                    ///< gives input 0, a variable, the value of input 1
  cond,                      ///< has the attributes of `cond`
  loop,                      ///< has the attributes of `while_loop`
  // What follows runs in tagged execution alone.
  switch_,
  merge,
  enter,
  exit,
  next_iteration,
  loop_cond,
  iterations,
  collect,
  primitive,  ///< another one of these
};

/// How an operation meets what outlives a step.
enum class effect : std::uint8_t {
  none,    ///< a function of its inputs and attributes
  reads,   ///< reads state or draws random numbers: not merged, not folded
  writes,  ///< changes state or the outside world: not merged, folded or dropped
};

/// What a node does at a queue, mutex or the like (op_def::rendezvous).
enum class rendezvous_kind : std::uint8_t {
  gives,    ///< what others wait for: an element, a gradient; it may wait for room
  takes,    ///< waits for what others give
  frees,    ///< takes, and makes room for those that give
  meets,    ///< waits for others, and they for it
  locks,    ///< waits for those that unlock
  unlocks,  ///< lets one that locks go on
};

/// One operation. All instances live for the whole program and are compared by address.
struct op_def {
  std::string_view name;
  std::string_view doc;
  std::int8_t arity = 0;  ///< number of inputs, -1: one or more, -2: any number
  std::uint8_t outputs = 1;
  op_kind kind = op_kind::ordinary;
  rill::effect effect = rill::effect::none;
  bool commutes = false;               ///< the order of the two inputs does not matter
  bool aliases_input = false;          ///< output 0 is input 0 with, perhaps, other extents: no kernel
  bool forwards_input = false;         ///< output 0 is input 0, beside an effect: a derivative that computes it again
                                       ///< reads the input instead
  std::uint32_t updates_in_place = 0;  ///< bit i: output i is input i but for some rows, and may lie in its memory:
                                       ///< kernels look whether it does
  std::uint32_t by_reference = 0;      ///< bit i: input i is a variable, not its value
  bool reference_or_value = false;  ///< what it takes by reference may also be a plain value, such as one that is fed
  bool uses_value_extents = false;  ///< what it takes by reference has, for it, the extents of the variable's value,
                                    ///< not the declared ones
  bool resizes = false;             ///< it may give variables that it updates other extents
  std::uint32_t shape_only = 0;     ///< bit i: only the extents of input i matter
  bool waits = false;               ///< its kernel may return before it is done (continuation.hpp)
  bool back_edge = false;           ///< it belongs to the node of input 1, to which it hands input 0 an iteration later
  bool stops_gradient = false;      ///< its outputs are constants for differentiation
  bool dynamic_output_shape = false;  ///< open extents of its outputs are settled when it runs
  scalar_function const* elementwise = nullptr;
  std::span<std::string_view const> attributes = {};  ///< their names, in the order in which nodes keep them

  // Which attributes say something to others than the operation; empty: none does.
  std::string_view constant_value = {};     ///< a tensor, the value of output 0
  std::string_view declared_type = {};      ///< a type, which output 0 has; it binds the names in it
  std::string_view result_element = {};     ///< the element type of an elementwise operation's result
  std::string_view counts_references = {};  ///< an integer: how many of the first inputs are variables
  std::string_view counts_updates = {};     ///< an integer: how many of those it updates, the first; empty: all
  std::string_view draws_random = {};       ///< an integer that tells the random numbers of one node from others'
  std::string_view rendezvous = {};  ///< a string: the queue, mutex or the like at which nodes wait for each other
  rendezvous_kind rendezvous_role = rendezvous_kind::meets;  ///< and what it does there

  /// Appends the attributes in the operation's own struct.
  void (*encode)(void const* attributes, attribute_list& to) = nullptr;
  void (*infer)(attribute_list const&, std::span<type const> inputs, std::vector<type>& outputs) = nullptr;
  rill::cost (*work)(attribute_list const&, std::span<type const> inputs, std::span<type const> outputs) = nullptr;
  std::vector<gradient> (*grad)(gradient_request const&) = nullptr;  ///< null: not differentiable
  /// Of a node whose inputs come from nodes of these names; null: from every output to every input (paths.hpp).
  path_table (*paths)(node const&, std::span<std::string_view const>, path_finder&) = nullptr;
  /// Records a node that updates variables in its bodies again, for a derivative, without those updates; null: that is
  /// not possible.
  value (*without_updates)(graph& here, node const&, std::vector<value> const& inputs) = nullptr;
  std::string_view no_gradient = {};  ///< why it is not, and what to do, where the error should say more than its name
  kernel (*cpu)(kernel_request const&) = nullptr;
};

}  // namespace rill
