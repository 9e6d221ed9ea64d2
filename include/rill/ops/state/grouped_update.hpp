// Fused updates by the same program as one node, for devices that run it as one kernel. A pass makes it
// (pass/group_updates.hpp); nobody records it, and the host has no kernel of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rill/dsl/definition.hpp"
#include "rill/program/program.hpp"

namespace rill::ops {

/// Several updates. Its inputs are the variables of each update in turn, then the other operands of each in turn.
/// Nobody reads the results, so it has no outputs.
struct grouped_update_op {
  static constexpr std::string_view name = "grouped_update", doc = "fused updates of variables by the same program";
  static constexpr std::int8_t arity = -1;
  static constexpr std::uint8_t outputs = 0;
  static constexpr std::string_view counts_references = "references";
  static constexpr bool uses_value_extents = true;
  static constexpr rill::effect effect = rill::effect::writes;
  struct attributes {
    std::shared_ptr<program const> what;  ///< one update's; its results go to its first inputs, the variables
    std::int64_t references = 0;          ///< the number of variables of all updates
    static constexpr auto fields(auto const& take) {
      return take(field{"program", &attributes::what}, field{"references", &attributes::references});
    }
  };
  static std::vector<type> infer(attributes const&, std::span<type const>) { return {}; }
  /// The inputs are read, and the variables written.
  static cost work(attributes const& a, std::span<type const> inputs, std::span<type const>) {
    auto const variables = static_cast<std::size_t>(a.references);
    return {0, detail::bytes_of(inputs) + detail::bytes_of(inputs.first(variables))};
  }
};

}  // namespace rill::ops
