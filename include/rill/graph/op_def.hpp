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

/// For each output and each input of a node, whether the output's derivative reaches the input.
using path_table = std::vector<std::vector<bool>>;

/// An estimate of a call's work, from the types of its inputs and outputs.
struct cost {
  double flops = 0;
  double bytes = 0;  ///< read and written
};

/// What graphs, passes and executors must know of an operation; most are `ordinary`.
enum class op_kind : std::uint8_t {
  ordinary,
  constant,                  ///< has no inputs; its value is the attribute `constant_value`
  variable,                  ///< has no inputs; lives in the container under the node's name
  placeholder,               ///< has no inputs; each step feeds it
  placeholder_with_default,  ///< is input 0 unless a step feeds it
  identity,                  ///< is input 0
  as,                        ///< is input 0, with a more specific type; feeding it feeds input 0
  assign,                    ///< gives input 0, a variable, the value of input 1
  cond,                      ///< has the attributes of `cond`
  loop,                      ///< has the attributes of `while_loop`
  initialize,                ///< gives input 0, a variable, the value of input 1 unless it has a value
  // The following run in tagged execution alone.
  switch_,
  merge,
  enter,
  exit,
  next_iteration,
  loop_cond,
  iterations,
  collect,
  primitive,  ///< any other operation of tagged execution
};

/// How an operation depends on state that outlives a step.
enum class effect : std::uint8_t {
  none,    ///< a function of its inputs and attributes
  reads,   ///< reads state or draws random numbers: passes don't merge or fold it
  writes,  ///< changes state or the outside world: passes don't merge, fold or drop it
};

/// What a node does at a queue, mutex or the like (op_def::rendezvous).
enum class rendezvous_kind : std::uint8_t {
  gives,    ///< gives an element or a gradient that others wait for; may wait for room
  takes,    ///< waits for an element that others give
  frees,    ///< takes, and makes room for nodes that give
  meets,    ///< waits for others, and others for it
  locks,    ///< waits for a node that unlocks
  unlocks,  ///< lets one node that locks go on
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
  bool aliases_input = false;          ///< output 0 is the memory of input 0, perhaps with other extents: no kernel
  bool forwards_input = false;         ///< output 0 equals input 0, beside an effect: a derivative that computes the
                                       ///< node again reads the input instead
  std::uint32_t updates_in_place = 0;  ///< bit i: output i is input i with some rows replaced, and may share its
                                       ///< memory; the kernel compares the pointers
  std::uint32_t by_reference = 0;      ///< bit i: input i is a variable, not its value
  bool reference_or_value = false;     ///< an input by reference may also be a plain value, for instance a feed
  bool uses_value_extents = false;     ///< an input by reference has the extents of the variable's value instead of the
                                       ///< declared extents
  bool resizes = false;                ///< it may change the extents of variables that it updates
  std::uint32_t shape_only = 0;        ///< bit i: only the extents of input i matter
  bool waits = false;                  ///< its kernel may return before it is done (continuation.hpp)
  bool back_edge = false;              ///< it passes input 0 to the merge that input 1 comes from, one iteration later
  bool stops_gradient = false;         ///< its outputs are constants for differentiation
  bool wide_gradient = false;          ///< its gradient rule of several operations gets 16-bit floats as float32, so
                                       ///< that only its results are rounded (docs/guide/precision.md)
  bool dynamic_output_shape = false;   ///< extents of its outputs may be known only when it has run
  scalar_function const* elementwise = nullptr;
  std::span<std::string_view const> attributes = {};  ///< their names, in the order in which nodes keep them

  // Names of attributes that graphs, passes and executors read; empty: the operation has no such attribute.
  std::string_view constant_value = {};     ///< a tensor: the value of output 0
  std::string_view declared_type = {};      ///< a type: of output 0, whose axis names it binds
  std::string_view result_element = {};     ///< an element type: of an elementwise operation's result
  std::string_view counts_references = {};  ///< an integer n: the first n inputs are variables
  std::string_view counts_updates = {};     ///< an integer n: it updates the first n variables; empty: all
  std::string_view draws_random = {};       ///< an integer: the key of the node's random numbers
  std::string_view rendezvous = {};         ///< a string: the queue, mutex or the like at which nodes wait
  rendezvous_kind rendezvous_role = rendezvous_kind::meets;  ///< what it does there

  /// Appends the attributes of an object of the operation's `attributes` struct.
  void (*encode)(void const* attributes, attribute_list& to) = nullptr;
  void (*infer)(attribute_list const&, std::span<type const> inputs, std::vector<type>& outputs) = nullptr;
  rill::cost (*work)(attribute_list const&, std::span<type const> inputs, std::span<type const> outputs) = nullptr;
  std::vector<gradient> (*grad)(gradient_request const&) = nullptr;  ///< null: not differentiable
  /// Returns the paths of derivatives through a node whose inputs come from nodes of these names (paths.hpp); null:
  /// from each output to each input.
  path_table (*paths)(node const&, std::span<std::string_view const>, path_finder&) = nullptr;
  /// Records a node whose bodies update variables once more, without the updates, for a derivative; null: that is not
  /// possible.
  value (*without_updates)(graph& here, node const&, std::vector<value> const& inputs) = nullptr;
  std::string_view no_gradient = {};  ///< why it is not differentiable, and what to do; empty: the error names it alone
  kernel (*cpu)(kernel_request const&) = nullptr;
};

}  // namespace rill
