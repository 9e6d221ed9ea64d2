// How the operands of an elementwise function lie over the axes of its result.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "rill/type/shape.hpp"

namespace rill {

/// How an operand is read for the elements of a result in order.
enum class access : std::uint8_t {
  direct,   ///< one after the other
  scalar,   ///< the same element for all
  strided,  ///< by a stride for each axis
};

/// The axes of a result, with neighbours merged where every operand's stride is uniform, and how each operand is read
/// over them.
struct collapsed_axes {
  struct operand {
    access how = access::direct;
    std::array<std::int64_t, max_rank> strides{};  ///< in elements, over `extents`
  };
  std::vector<std::int64_t> extents;  ///< outermost first
  std::vector<operand> operands;
};

/// Returns how operands of these extents, which broadcast to the result's, lie over its axes.
collapsed_axes collapse(std::vector<shape> const& operands, shape const& result);

}  // namespace rill

#if RILL_RUNTIME
#include <algorithm>
#include <cstddef>

namespace rill {

RILL_INLINE collapsed_axes collapse(std::vector<shape> const& inputs, shape const& output) {
  auto const rank = output.rank();
  std::vector<std::array<std::int64_t, max_rank>> strides(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::int64_t apart = 1;
    auto const missing = rank - inputs[i].rank();
    for (std::size_t axis = rank; axis-- > 0;) {
      auto const extent = axis < missing ? 1 : inputs[i][axis - missing];
      strides[i][axis] = extent == 1 ? 0 : apart;
      apart *= extent;
    }
  }
  collapsed_axes made;
  made.operands.resize(inputs.size());
  auto& extents = made.extents;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (output[axis] == 1) continue;
    bool even = !extents.empty();
    for (std::size_t i = 0; i < inputs.size() && even; ++i)
      even = made.operands[i].strides[extents.size() - 1] == strides[i][axis] * output[axis];
    if (even) extents.back() *= output[axis];
    else extents.push_back(output[axis]);
    for (std::size_t i = 0; i < inputs.size(); ++i) made.operands[i].strides[extents.size() - 1] = strides[i][axis];
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& o = made.operands[i];
    bool const scalar = std::all_of(o.strides.begin(), o.strides.begin() + static_cast<std::ptrdiff_t>(extents.size()),
                                    [](auto s) { return s == 0; });
    // An operand with the output's extents is read like the output, whatever the other operands do.
    bool const whole =
        extents.empty() || (extents.size() == 1 && o.strides[0] == 1) || elements(inputs[i]) == elements(output);
    o.how = whole ? access::direct : scalar ? access::scalar : access::strided;
  }
  return made;
}

}  // namespace rill
#endif
