// Nodes that a device computes by one kernel: at most an elementwise program, an operation, and another program.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rill/graph/op_def.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

namespace detail {
void infer_chain(attribute_list const& attributes, std::span<type const> inputs, std::vector<type>& outputs);
cost chain_work(attribute_list const& attributes, std::span<type const> inputs, std::span<type const> outputs);
}  // namespace detail

/// The operation of such a node. Only devices with kernels of their own have one for it.
inline constexpr op_def chain_op{.name = "chain",
                                 .doc = "an operation, with the elementwise programs before and after it",
                                 .arity = -2,
                                 .infer = detail::infer_chain,
                                 .work = detail::chain_work};

/// What a chain consists of: nodes of its body. The program before computes the operation's input 0; the one after has
/// the operation's output 0 as its input 0. Both are nodes of `fused`.
struct chain_parts {
  subgraph const& body;  ///< its inputs are the chain's; nodes that stand for extents alone are no inputs
  node const *before = nullptr, *main = nullptr, *after = nullptr;  ///< null: there is no such program

  explicit chain_parts(node const& chain);

  /// Returns the types of the operation's inputs.
  std::vector<type> inputs() const;
  /// Returns the number of the chain's inputs that are inputs of the program before, and of the one after.
  std::size_t inputs_before() const { return before ? before->inputs.size() : 0; }
  std::size_t inputs_after() const { return after ? after->inputs.size() - 1 : 0; }
};

}  // namespace rill

#if RILL_RUNTIME
#include "rill/ops/list/fuse.hpp"

namespace rill {

namespace detail {

inline subgraph const& body_of_chain(attribute_list const& attributes) {
  return *attribute_as<std::shared_ptr<subgraph const>>(attributes, "body");
}

RILL_INLINE void infer_chain(attribute_list const& attributes, std::span<type const>, std::vector<type>& outputs) {
  auto const& body = body_of_chain(attributes);
  outputs.clear();
  for (auto e : body.outputs) outputs.push_back(body.type_of(e));
}

RILL_INLINE cost chain_work(attribute_list const& attributes, std::span<type const> inputs,
                            std::span<type const> outputs) {
  auto const& body = body_of_chain(attributes);
  cost sum;
  for (auto const& n : body.nodes) {
    if (n.op->work == nullptr) continue;
    std::vector<type> in;
    for (auto e : n.inputs) in.push_back(body.type_of(e));
    sum.flops += n.op->work(n.attributes, in, n.outputs).flops;
  }
  for (auto const& all : {inputs, outputs})
    for (auto const& t : all) sum.bytes += t.is_known() ? static_cast<double>(t.bytes()) : 0;
  return sum;
}

}  // namespace detail

RILL_INLINE chain_parts::chain_parts(node const& chain) : body(detail::body_of_chain(chain.attributes)) {
  for (auto const& n : body.nodes)
    if (n.op == &fed_op) continue;
    else if (n.op != &definition<ops::fused_op>()) main = &n;
    else (main ? after : before) = &n;
}

RILL_INLINE std::vector<type> chain_parts::inputs() const {
  std::vector<type> all;
  for (auto e : main->inputs) all.push_back(body.type_of(e));
  return all;
}

}  // namespace rill
#endif
