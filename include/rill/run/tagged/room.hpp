// Operations that give a frame's plan room for a value that the walk writes.
#pragma once
#include <span>
#include <vector>

#include "rill/device/kernel.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/run/plan/primitive_region.hpp"

namespace rill::detail {

inline void no_inference(attribute_list const&, std::span<type const>, std::vector<type>&) {}
inline kernel room_kernel(kernel_request const&) {
  return kernel([](kernel_call const&) {});
}
inline kernel open_room_kernel(kernel_request const&) {
  kernel k([](kernel_call const&) {});
  k.allocates_outputs = true;
  return k;
}
inline constexpr op_def room_op{.name = "room",
                                .doc = "room for a value that another frame or iteration writes",
                                .arity = 0,
                                .infer = no_inference,
                                .work = unknown_work,
                                .cpu = room_kernel};
inline constexpr op_def open_room_op{.name = "open_room",
                                     .doc = "room for rows whose number is not known, or in another memory",
                                     .arity = 0,
                                     .dynamic_output_shape = true,
                                     .infer = no_inference,
                                     .work = unknown_work,
                                     .cpu = open_room_kernel};

}  // namespace rill::detail
