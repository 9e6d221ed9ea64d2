// Updates several variables in place by one program: an optimizer's arithmetic and assignments, fused.
#pragma once
#include <algorithm>
#include <array>
#include <optional>

#include "rill/graph/subgraph.hpp"
#include "rill/ops/base/elementwise.hpp"
#include "rill/ops/state/assign.hpp"

#if RILL_RUNTIME
#include "rill/state/variable.hpp"
#endif

namespace rill::ops {

struct fused_update_op {
  using library = void;
  static constexpr std::string_view
      name = "fused_update",
      doc = "an elementwise program whose results are assigned to its first inputs, which are variables";
  static constexpr std::int8_t arity = -1;
  static constexpr std::string_view counts_references = "references";
  static constexpr bool uses_value_extents = true;
  static constexpr rill::effect effect = rill::effect::writes;
  struct attributes {
    std::shared_ptr<program const> what;
    std::int64_t references = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"program", &attributes::what}, field{"references", &attributes::references});
    }
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> inputs);
  static kernel cpu(kernel_request const& r);

 private:
  static constexpr std::size_t most_variables = 8, most_pointers = 80;  // more than the pass makes
  static void check(std::vector<shape> const& shapes, std::size_t count);
};

#if RILL_RUNTIME

RILL_INLINE std::vector<type> fused_update_op::infer(attributes const& a, std::span<type const> inputs) {
  expects(a.what != nullptr, "fused_update: the program is missing");
  verify(*a.what);
  auto const count = static_cast<std::size_t>(a.references);
  expects(a.references > 0 && count <= inputs.size() && a.what->inputs.size() == inputs.size() &&
              a.what->outputs.size() == count,
          "fused_update: the program does not fit the inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    expects(a.what->inputs[i] == inputs[i].element,
            "fused_update: an input has another element type than the program's");
  for (std::size_t i = 0; i < count; ++i)
    expects(a.what->element(a.what->outputs[i]) == inputs[i].element &&
                accepts(inputs[0].with(inputs[i].element), inputs[i]),
            "fused_update: a result is not of its variable's type");
  return {inputs.begin(), inputs.begin() + a.references};
}

RILL_INLINE kernel fused_update_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  std::vector<shape> shapes;
  for (auto const& t : r.inputs) shapes.push_back(t.shape());
  auto const count = static_cast<std::size_t>(a.references);
  check(shapes, count);
  auto bound = std::make_shared<bound_program const>(*a.what, shapes, shapes[0]);
  std::vector<std::pair<variable_state*, std::size_t>> locking;
  for (std::size_t i = 0; i < count; ++i) {
    expects(bound->input_output_aliases(i, i), "fused_update: a variable is read after it is written");
    locking.emplace_back(r.variables[i].get(), i);
  }
  std::sort(locking.begin(), locking.end());
  expects(std::adjacent_find(locking.begin(), locking.end(),
                             [](auto const& x, auto const& y) { return x.first == y.first; }) == locking.end(),
          "fused_update: a variable occurs twice");
  kernel k([bound, locking, shapes, keep = r.variables](kernel_call const& call) {
    std::array<void*, most_pointers> pointers;
    std::copy_n(call.pointers, call.inputs, pointers.begin());
    std::array<std::optional<variable_state::writer>, most_variables> writers;
    for (std::size_t i = 0; i < locking.size(); ++i) {
      auto const [variable, at] = locking[i];
      auto& t = writers[i].emplace(*variable, call.step.version).value();
      expects(t.shape() == shapes[at], "an update does not have the variable's extents");
      pointers[at] = pointers[call.inputs + at] = t.mutable_raw();
      call.give(at, t);
    }
    (*bound)(pointers.data(), call.threads);
  });
  k.allocates_outputs = true;
  return k;
}

// The node may come from a loaded graph rather than from the pass.
RILL_INLINE void fused_update_op::check(std::vector<shape> const& shapes, std::size_t count) {
  expects(count <= most_variables && shapes.size() + count <= most_pointers,
          "fused_update: there are too many operands");
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    auto const wide = broadcast(type(dtype::boolean, shapes[0]), type(dtype::boolean, shapes[i])).shape();
    expects(wide == shapes[0] && (i >= count || shapes[i] == shapes[0]),
            "fused_update: an operand does not have the variables' extents");
  }
}

#endif

}  // namespace rill::ops
