// The operation that begins a generation of training on a task. A server runs it for the other tasks of its cluster,
// not for clients.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rill/dsl/expr.hpp"
#include "rill/state/container.hpp"

namespace rill::ops {

/// Input 0 is the number, from 1 to `most` (container::begin_generation). Does nothing if that generation has begun.
struct begin_generation_op {
  static constexpr std::int64_t most = 0x7fffffff;  // the upper half of a round's number (state/training_rounds.hpp)
  static constexpr std::string_view name = "begin_generation",
                                    doc = "begins a generation: steps of earlier ones are refused from now on";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 0;
  static constexpr rill::effect effect = rill::effect::writes;
  using attributes = no_attributes;
  static std::array<type, 0> infer(no_attributes, std::span<type const> x) {
    expects(accepts(of<std::int64_t>, x[0]), "begin_generation: the number is not a scalar of int64");
    return {};
  }
  static kernel cpu(kernel_request const& r);
};

#if RILL_RUNTIME
RILL_INLINE kernel begin_generation_op::cpu(kernel_request const& r) {
  return kernel([&state = r.state](kernel_call const& call) {
    auto const number = *call.in<std::int64_t>(0);
    if (number < 1 || number > most)
      throw error(code::invalid_argument,
                  "expected the number of a generation, from 1 to 2147483647, got " + std::to_string(number));
    if (state.generation() != number) state.begin_generation(number);
  });
}
#endif

}  // namespace rill::ops
