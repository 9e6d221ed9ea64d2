// Makes the bodies of a branch or loop ready to run on several tasks: binds their extents, and writes the order in
// which they use variables into control edges.
#pragma once
#include "rill/graph/subgraph.hpp"
#include "rill/state/container.hpp"

#if RILL_RUNTIME
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/loop.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/order_sections.hpp"
#include "rill/pass/order_uses.hpp"

namespace rill::detail {

/// Prepares one body. If it can't run with arguments of these types, its extents stay open: it is refused when it is
/// chosen.
inline void prepare_body(node& of, std::string_view name, std::span<type const> arguments, container& state) {
  auto& attribute = std::get<std::shared_ptr<subgraph const>>(attribute_of(of, name));
  auto body = *attribute;
  if (all_known(arguments)) try {
      bind_extents(body, {arguments.begin(), arguments.end()}, state);
    } catch (error const&) {
      body = *attribute;
    }
  order_sections(body, nullptr);
  order_uses(body, nullptr);
  attribute = std::make_shared<subgraph const>(std::move(body));
}

/// Prepares the bodies of a branch or loop whose inputs have these types.
inline void prepare_bodies(node& n, std::span<type const> inputs, container& state) {
  if (!ops::is_loop(n)) {
    auto const a = decode<ops::branch::attributes>(n.attributes);
    for (auto const name : {"then", "otherwise"})
      prepare_body(n, name, inputs.subspan(static_cast<std::size_t>(a.references) + 1), state);
    return;
  }
  auto const a = decode<ops::loop_rules::attributes>(n.attributes);
  auto const arguments = ops::loop_rules::given(a, inputs, n.outputs);
  prepare_body(n, "body", arguments, state);
  if (!a.counted()) prepare_body(n, "condition", ops::loop_rules::without_rows(a, arguments), state);
}

}  // namespace rill::detail
#endif
