// Plans of tagged execution, for tests of what makes and runs them.
#pragma once
#include <memory>
#include <vector>

#include "pass/subgraphs.hpp"
#include "rill/run/compiled_body.hpp"

namespace rill {

/// The plan of a subgraph whose last node is a loop, or that has primitives in it.
struct framed {
  container state;
  host_memory memory;
  std::shared_ptr<compiled_functions> functions = no_functions();

  plan_request request() { return {.state = state, .memory = memory, .functions = functions.get()}; }
  tagged_plan of_loop(graph const& g, value const& result, std::vector<value> const& fed) {
    auto const sub = part_of(g, {result}, {}, fed);
    auto const& n = sub[sub.outputs[0].node];
    std::vector<type> inputs;
    for (auto e : n.inputs) inputs.push_back(sub.type_of(e));
    return make_tagged_plan(lower(n, inputs, state, {}), request());
  }
  tagged_plan of_part(graph const& g, value const& result, std::vector<value> const& fed) {
    return make_tagged_plan(lowered{part_of(g, {result}, {}, fed)}, request());
  }
};

}  // namespace rill
