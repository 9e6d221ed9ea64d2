// Nodes that a device runs one after the other, as one node of the step: they are handed to its stream together.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rill/graph/kernel_request.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

namespace detail {
void infer_region(attribute_list const& attributes, std::span<type const> inputs, std::vector<type>& outputs);
cost region_work(attribute_list const& attributes, std::span<type const> inputs, std::span<type const> outputs);
kernel region_kernel(kernel_request const& r);
}  // namespace detail

/// The operation of a node that runs a region of a device: its body. Its inputs are the variables that nodes of the
/// body take by reference, those that they update first, and then values in the device's memory, as are its outputs.
inline constexpr op_def device_region_op{.name = "device_region",
                                         .doc = "nodes that a device runs one after the other",
                                         .arity = -2,
                                         .effect = effect::writes,
                                         .counts_references = "references",
                                         .counts_updates = "updates",
                                         .infer = detail::infer_region,
                                         .work = detail::region_work,
                                         .cpu = detail::region_kernel};

}  // namespace rill

#if RILL_RUNTIME
#include "rill/device/step.hpp"
#include "rill/pass/options.hpp"
#include "rill/run/lanes/device_call.hpp"
#include "rill/run/lanes/transfer.hpp"
#include "rill/run/plan/session_devices.hpp"

namespace rill::detail {

inline std::size_t references_of_region(attribute_list const& a) {
  return static_cast<std::size_t>(attribute_as<std::int64_t>(a, "references"));
}
inline subgraph const& body_of_region(attribute_list const& a) {
  return *attribute_as<std::shared_ptr<subgraph const>>(a, "body");
}

RILL_INLINE void infer_region(attribute_list const& attributes, std::span<type const> inputs,
                              std::vector<type>& outputs) {
  outputs = infer(body_of_region(attributes), inputs.subspan(references_of_region(attributes)));
}

RILL_INLINE cost region_work(attribute_list const& attributes, std::span<type const>, std::span<type const>) {
  auto const& body = body_of_region(attributes);
  cost sum;
  std::vector<type> in;
  for (auto const& n : body.nodes) {
    if (n.op->work == nullptr) continue;
    in.clear();
    for (auto e : n.inputs) in.push_back(body.type_of(e));
    auto const c = n.op->work(n.attributes, in, n.outputs);
    sum.flops += c.flops, sum.bytes += c.bytes;
  }
  return sum;
}

/// Seconds that work takes at a device's set speed.
inline double seconds_at(device_speed const& s, cost const& c) {
  return std::max(s.flops > 0 ? c.flops / s.flops : 0, s.memory_bytes > 0 ? c.bytes / s.memory_bytes : 0);
}

RILL_INLINE kernel region_kernel(kernel_request const& r) {
  static pass_options const no_passes = pass_options::none();
  auto& device = (*r.devices)[device_of(r.at)];
  auto const references = references_of_region(r.at.attributes);
  auto of_body = r;  // what its kernels are prepared from
  of_body.memory = &device.on->memory();
  of_body.passes = &no_passes;
  of_body.threads = device.on->threads().threads;
  of_body.devices = nullptr;
  of_body.on = device.on.get();
  auto const given = r.inputs.subspan(references);
  auto const body =
      naming_device(device.name, [&] { return r.compile(of_body, body_of_region(r.at.attributes), given); });
  auto const seconds = seconds_at(device.on->speed(), region_work(r.at.attributes, r.inputs, r.outputs));
  kernel k([&device, body, references, seconds, name = r.at.name,
            types = std::vector<type>(given.begin(), given.end())](kernel_call const& call) {
    auto const work = [&](kernel_call const& c) {
      allocation_scope const scope(name);
      std::vector<tensor> values;
      for (std::size_t i = 0; i < types.size(); ++i) values.push_back(tensor::borrow(types[i], c.in(references + i)));
      auto step = c.step;
      step.arenas = &device.arenas;
      step.fiber = nullptr;
      step.stack = 0;
      return body->run(values, device.on->threads(), step);
    };
    submit_call(device.on->compute(), device.name, call, seconds, work);
  });
  k.allocates_outputs = true;
  k.outputs_on = static_cast<std::int32_t>(device_of(r.at));
  k.waits = true;
  k.enqueues = true;
  k.names_nodes = true;
  return k;
}

}  // namespace rill::detail
#endif
