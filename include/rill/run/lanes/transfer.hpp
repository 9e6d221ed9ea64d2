// Copies of values from one memory to another, as nodes (white paper §3.2.2: one for each tensor and destination).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rill/graph/kernel_request.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

namespace detail {
inline void infer_transfer(attribute_list const&, std::span<type const> inputs, std::vector<type>& outputs) {
  outputs = {inputs[0]};
}
inline cost transfer_work(attribute_list const&, std::span<type const> inputs, std::span<type const>) {
  return {0, inputs[0].is_known() ? static_cast<double>(inputs[0].bytes()) : 0};
}
inline void infer_device_constant(attribute_list const& attributes, std::span<type const>, std::vector<type>& outputs) {
  outputs = {attribute_as<tensor>(attributes, "value").type()};
}
inline cost no_work(attribute_list const&, std::span<type const>, std::span<type const>) { return {}; }
kernel copy_in_kernel(kernel_request const& r);
kernel copy_out_kernel(kernel_request const& r);
kernel copy_between_kernel(kernel_request const& r);
kernel device_constant_kernel(kernel_request const& r);
}  // namespace detail

/// Copies a value from the host's memory to a device's.
inline constexpr op_def copy_in_op{.name = "copy_in",
                                   .doc = "a value, copied from the host's memory to that of a device",
                                   .arity = 1,
                                   .infer = detail::infer_transfer,
                                   .work = detail::transfer_work,
                                   .cpu = detail::copy_in_kernel};
/// Copies a value from a device's memory to the host's.
inline constexpr op_def copy_out_op{.name = "copy_out",
                                    .doc = "a value, copied from the memory of a device to the host's",
                                    .arity = 1,
                                    .infer = detail::infer_transfer,
                                    .work = detail::transfer_work,
                                    .cpu = detail::copy_out_kernel};
/// Copies a value from a device's memory to that of a peer (memory_space::is_peer). The attribute "from" is the number
/// of the source device.
inline constexpr op_def copy_between_op{.name = "copy_between",
                                        .doc = "a value, copied from the memory of a device to that of another",
                                        .arity = 1,
                                        .infer = detail::infer_transfer,
                                        .work = detail::transfer_work,
                                        .cpu = detail::copy_between_kernel};
/// A constant in a device's memory, where it is copied when the step is planned.
inline constexpr op_def device_constant_op{.name = "device_constant",
                                           .doc = "a constant in the memory of a device",
                                           .arity = 0,
                                           .infer = detail::infer_device_constant,
                                           .work = detail::no_work,
                                           .cpu = detail::device_constant_kernel};

/// Returns the number of the device that such a node, or a region, is for.
inline std::size_t device_of(node const& n) {
  return static_cast<std::size_t>(detail::attribute_as<std::int64_t>(n.attributes, "device"));
}

}  // namespace rill

#if RILL_RUNTIME
#include "rill/run/lanes/device_call.hpp"
#include "rill/run/plan/session_devices.hpp"

namespace rill::detail {

/// Seconds that a copy takes between the host's memory and a device's.
inline double seconds_of_copy(device const& d, std::size_t bytes) {
  auto const speed = d.speed().link_bytes;
  return speed > 0 ? static_cast<double>(bytes) / speed : 0;
}

// Returns the kernel of a node that copies to a device's memory. `copy(space, to, from, bytes)` makes the copy.
template <class F> kernel copying_to_device(kernel_request const& r, F copy) {
  auto& device = (*r.devices)[device_of(r.at)];
  kernel k([&device, copy, of = r.outputs[0], name = r.at.name](kernel_call const& call) {
    allocation_scope const scope(name);
    auto made = naming_device(device.name, [&] { return tensor(of.element, of.shape(), device.on->memory()); });
    auto const seconds = seconds_of_copy(*device.on, made.bytes());
    auto work = [&device, copy, made = std::move(made)](kernel_call const& c) mutable {
      if (auto const n = made.bytes(); n != 0) copy(*device.space(), made.storage().data(), c.in(0), n);
      return std::vector<tensor>{std::move(made)};
    };
    submit_call(device.on->copies_in(), device.name, call, seconds, std::move(work));
  });
  k.allocates_outputs = true;
  k.outputs_on = static_cast<std::int32_t>(device_of(r.at));
  k.copied = r.outputs[0].bytes();
  k.waits = true;
  k.enqueues = true;
  return k;
}

RILL_INLINE kernel copy_in_kernel(kernel_request const& r) {
  return copying_to_device(r,
                           [](memory_space& to, void* at, void const* from, std::size_t n) { to.write(at, from, n); });
}

RILL_INLINE kernel copy_between_kernel(kernel_request const& r) {
  auto const source = static_cast<std::size_t>(attribute_as<std::int64_t>(r.at.attributes, "from"));
  auto k = copying_to_device(
      r, [other = (*r.devices)[source].space()](memory_space& to, void* at, void const* from, std::size_t n) {
        to.copy_from(*other, at, from, n);
      });
  k.inputs_on = static_cast<std::int32_t>(source);
  return k;
}

RILL_INLINE kernel copy_out_kernel(kernel_request const& r) {
  auto& device = (*r.devices)[device_of(r.at)];
  kernel k([&device, bytes = r.outputs[0].bytes()](kernel_call const& call) {
    auto const copy = [&device, bytes](kernel_call const& c) {
      if (bytes != 0) device.space()->read(c.out(0), c.in(0), bytes);
      return std::vector<tensor>{};
    };
    submit_call(device.on->copies_out(), device.name, call, seconds_of_copy(*device.on, bytes), copy);
  });
  k.inputs_on = static_cast<std::int32_t>(device_of(r.at));
  k.copied = r.outputs[0].bytes();
  k.waits = true;
  k.enqueues = true;
  return k;
}

RILL_INLINE kernel device_constant_kernel(kernel_request const& r) {
  allocation_scope const scope(r.at.name);
  auto const& value = attribute_as<tensor>(r.at.attributes, "value");
  auto& device = (*r.devices)[device_of(r.at)];
  auto there = naming_device(device.name, [&] { return value.to(device.on->memory()); });
  kernel k([there = std::move(there)](kernel_call const& call) { call.give(0, there); });
  k.allocates_outputs = true;
  k.outputs_on = static_cast<std::int32_t>(device_of(r.at));
  return k;
}

}  // namespace rill::detail
#endif
