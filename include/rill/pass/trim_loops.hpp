// Removes the rows of loops that no node reads, and the inputs that their bodies do not read. So a value of which a
// derivative needs only the extents is not kept.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/control/loop.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/identities.hpp"

namespace rill {

/// Trims the loops of a bound subgraph and the loops in their bodies. Returns whether it changed the subgraph.
bool trim_loops(subgraph& sub, container& state, pass_report* report);

#if RILL_RUNTIME
namespace detail {

/// How a subgraph reads an output of one of its nodes.
enum class reading : std::uint8_t { nothing, extents, elements };

inline reading how_read(subgraph const& sub, endpoint e) {
  auto how = reading::nothing;
  for (auto const& n : sub.nodes)
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (n.inputs[k] == e) how = std::max(how, reads_extents_alone(n, k) ? reading::extents : reading::elements);
  return std::find(sub.outputs.begin(), sub.outputs.end(), e) != sub.outputs.end() ? reading::elements : how;
}

/// Trims one loop.
class loop_trimmer {
 public:
  loop_trimmer(rewriter& r, std::uint32_t at)
      : r_(r), at_(at), a_(decode<ops::loop_rules::attributes>(node().attributes)) {}

  void run(container& state) {
    body_ = *a_.body;
    condition_ = *a_.condition;
    drop_rows_made();
    if (bind(state)) {
      remove_identities(body_, nullptr);
      trim_loops(body_, state, nullptr);
      drop_inputs();
    } else {
      drop_elements();
    }
    if (!changed_) return;
    a_.body = std::make_shared<subgraph const>(std::move(body_));
    a_.condition = std::make_shared<subgraph const>(std::move(condition_));
    node().attributes = encode(a_);
    r_.log("unread rows and inputs removed", at_);
  }

 private:
  rill::node& node() { return r_.subgraph()[at_]; }

  void drop_rows_made() {
    auto const first = a_.count_port() + 1;
    std::vector<std::uint32_t> port(node().outputs.size());
    std::vector<type> types;
    std::vector<endpoint> made;
    std::int64_t unsaved = 0;
    for (std::uint32_t o = 0; o < port.size(); ++o) {
      port[o] = static_cast<std::uint32_t>(types.size());
      if (o >= first && how_read(r_.subgraph(), {at_, o}) == reading::nothing) {
        unsaved += a_.is_saved(o - first);
        continue;
      }
      types.push_back(node().outputs[o]);
      if (o != a_.count_port()) made.push_back(body_.outputs[o < first ? o : o - 1]);
    }
    if (types.size() == port.size()) return;
    changed_ = true;
    a_.saved -= unsaved;
    node().outputs = std::move(types);
    body_.outputs = std::move(made);
    rewriter body(body_, "loops", nullptr);
    body.log("makes fewer rows", 0);
    body.finish();
    auto const renumber = [&](endpoint& e) {
      if (e.node == at_) e.port = port[e.port];
    };
    for (auto& n : r_.subgraph().nodes) std::for_each(n.inputs.begin(), n.inputs.end(), renumber);
    std::for_each(r_.subgraph().outputs.begin(), r_.subgraph().outputs.end(), renumber);
  }

  // Binds the body if the types of its arguments are known. Returns false otherwise, and on an error, which compiling
  // the body will throw.
  bool bind(container& state) {
    std::vector<type> inputs;
    for (auto e : node().inputs) inputs.push_back(r_.subgraph().type_of(e));
    auto const given = ops::loop_rules::given(a_, inputs, node().outputs);
    if (!all_known(given)) return false;
    auto bound = body_;
    try {
      bind_extents(bound, given, state);
    } catch (error const&) {
      return false;
    }
    body_ = std::move(bound);
    return true;
  }

  void drop_inputs() {
    drop_extents();
    rewriter body(body_, "loops", nullptr), condition(condition_, "loops", nullptr);
    auto const variables = static_cast<std::size_t>(a_.variables), rows = static_cast<std::size_t>(a_.rows);
    bool const rows_count = a_.counted() && !a_.given_count;
    for (auto i = body_.inputs.size(); i-- > variables;) {
      bool const row = i < variables + rows;
      if (row && rows_count && a_.rows == 1) continue;
      auto const input = body_.inputs[i];
      auto const in_condition = a_.counted() || row ? SIZE_MAX : i - rows;
      if (in_condition != SIZE_MAX && how_read(condition_, {condition_.inputs[in_condition], 0}) != reading::nothing)
        continue;
      auto const how = how_read(body_, {input, 0});
      if (how == reading::elements || body_[input].outputs[0].element == dtype::string) continue;
      if (how == reading::extents) body.replace({input, 0}, {extents_of(body, input), 0}, "extents");
      body.log("unread", input);
      body_.inputs.erase(body_.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (in_condition != SIZE_MAX) {
        condition.log("unread", condition_.inputs[in_condition]);
        condition_.inputs.erase(condition_.inputs.begin() + static_cast<std::ptrdiff_t>(in_condition));
      }
      node().inputs.erase(node().inputs.begin() + static_cast<std::ptrdiff_t>(a_.first_variable() + i));
      a_.rows -= row;
      changed_ = true;
    }
    body.finish();
    condition.finish();
  }

  // Removes the extents of uneven rows: the body is bound, so all rows are known to have the same extents.
  void drop_extents() {
    if (a_.uneven == 0) return;
    auto const inputs = node().inputs.begin();
    node().inputs.erase(inputs + static_cast<std::ptrdiff_t>(a_.first_extents()),
                        inputs + static_cast<std::ptrdiff_t>(a_.first_variable()));
    a_.uneven = 0;
    changed_ = true;
  }

  // Replaces uneven rows of which the body reads only the extents by an empty tensor.
  void drop_elements() {
    for (auto i = a_.first_uneven(); i < a_.first_capture(); ++i) {
      auto const from = node().inputs[i];
      if (how_read(body_, {body_.inputs[i - a_.first_variable()], 0}) == reading::elements ||
          is_constant(r_.subgraph()[from.node]))
        continue;
      tensor none(r_.subgraph().type_of(from).element, shape{0});
      rill::node c;
      c.op = &definition<ops::constant_op>();
      c.name = r_.subgraph()[from.node].name + "/unread";
      c.outputs = {none.type()};
      c.attributes = encode(ops::constant_op::attributes{std::move(none)});
      auto const list = r_.add(std::move(c), r_.subgraph().origin[from.node]);
      node().inputs[i] = {list, 0};
      changed_ = true;
    }
  }

  // Adds a value of the input's type, which stands for an input of which only the extents are read; it is never
  // computed.
  static std::uint32_t extents_of(rewriter& body, std::uint32_t input) {
    auto const t = body.subgraph()[input].outputs[0];
    auto const origin = body.subgraph().origin[input];
    tensor zero(t.element, shape{});
    std::memset(zero.mutable_raw(), 0, zero.bytes());
    rill::node c, f;
    c.op = &definition<ops::constant_op>();
    c.name = body.subgraph()[input].name + "/zero";
    c.attributes = encode(ops::constant_op::attributes{zero});
    c.outputs = {type(t.element)};
    f.op = &definition<ops::fill_op>();
    f.name = body.subgraph()[input].name + "/extents";
    f.attributes = encode(ops::fill_op::attributes{t});
    f.outputs = {t};
    f.inputs = {{body.add(std::move(c), origin), 0}};
    return body.add(std::move(f), origin);
  }

  rewriter& r_;
  std::uint32_t at_;
  ops::loop_rules::attributes a_;
  subgraph body_, condition_;
  bool changed_ = false;
};

}  // namespace detail

RILL_INLINE bool trim_loops(subgraph& sub, container& state, pass_report* report) {
  if (std::none_of(sub.nodes.begin(), sub.nodes.end(), ops::is_loop)) return false;
  rewriter r(sub, "loops", report);
  for (auto i = static_cast<std::uint32_t>(sub.size()); i-- > 0;)
    if (ops::is_loop(sub[i])) detail::loop_trimmer(r, i).run(state);
  return r.finish();
}
#endif

}  // namespace rill
