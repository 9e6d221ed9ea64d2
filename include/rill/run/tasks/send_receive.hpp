// Send and Receive: the two ends of an edge that was cut between two tasks (white paper §3.2.2).
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/device/step.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/base/waiting.hpp"
#include "rill/run/tasks/exchange.hpp"
#include "rill/run/tasks/short_floats.hpp"

namespace rill {

namespace detail {
void infer_send(attribute_list const& attributes, std::span<type const> inputs, std::vector<type>& outputs);
void infer_receive(attribute_list const& attributes, std::span<type const> inputs, std::vector<type>& outputs);
inline cost copy_work(attribute_list const&, std::span<type const> inputs, std::span<type const>) {
  return {0, inputs.empty() || !inputs[0].is_known() ? 0 : static_cast<double>(inputs[0].bytes())};
}
kernel send_kernel(kernel_request const& r);
kernel receive_kernel(kernel_request const& r);
inline constexpr std::string_view send_attributes[] = {"edge", "peer", "pushed", "window", "short"};
inline constexpr std::string_view receive_attributes[] = {"edge", "peer", "pushed", "window", "short", "type"};
}  // namespace detail

/// Sends its input to another task; without an input it is a control edge, which says that what it waits for has run.
inline constexpr op_def send_op{.name = "send",
                                .doc = "sends a value to another task",
                                .arity = -2,
                                .outputs = 0,
                                .effect = effect::writes,
                                .waits = true,
                                .attributes = detail::send_attributes,
                                .infer = detail::infer_send,
                                .work = detail::copy_work,
                                .cpu = detail::send_kernel};
/// Receives a value that another task sends.
inline constexpr op_def receive_op{.name = "receive",
                                   .doc = "receives a value from another task",
                                   .arity = 0,
                                   .effect = effect::writes,
                                   .waits = true,
                                   .dynamic_output_shape = true,
                                   .attributes = detail::receive_attributes,
                                   .infer = detail::infer_receive,
                                   .work = detail::copy_work,
                                   .cpu = detail::receive_kernel};

#if RILL_RUNTIME
namespace detail {

inline cut_edge edge_of(attribute_list const& attributes) {
  auto const number = [&](char const* name) {
    return narrowed<std::uint32_t>(attribute_as<std::int64_t>(attributes, name), name);
  };
  return {number("edge"), number("peer"), attribute_as<bool>(attributes, "pushed"), number("window")};
}
/// Whether float32 goes along the edge as its upper 16 bits.
inline bool is_short(attribute_list const& attributes) { return attribute_as<bool>(attributes, "short"); }
inline void set_edge(attribute_list& attributes, cut_edge const& e, bool is_short) {
  attributes.emplace_back("edge", std::int64_t{e.number});
  attributes.emplace_back("peer", std::int64_t{e.peer});
  attributes.emplace_back("pushed", e.pushed);
  attributes.emplace_back("window", std::int64_t{e.window});
  attributes.emplace_back("short", is_short);
}
/// Which of the uses of an edge this is in a step, iteration and call; random numbers are drawn by the same.
inline std::uint64_t path_of(kernel_call const& call) { return call.step.stream; }

/// The type of what is sent along a control edge.
inline type control_type() { return type(dtype::boolean, shape{}); }

RILL_INLINE void infer_send(attribute_list const&, std::span<type const>, std::vector<type>& outputs) {
  outputs.clear();
}
RILL_INLINE void infer_receive(attribute_list const& attributes, std::span<type const>, std::vector<type>& outputs) {
  outputs = {attribute_as<type>(attributes, "type")};
}

/// A Send that waits until nobody reads its value any more.
struct waiting_send {
  continuation* later = nullptr;
  std::atomic<bool> is_over = false;

  void end(failure why) noexcept {
    if (!is_over.exchange(true)) later->resume(std::move(why));
  }
};
/// The value of a waiting Send. Whoever sends it on owns it; when it is let go, the Send is done.
class loan {
 public:
  loan(tensor of, std::shared_ptr<waiting_send> by) : of_(std::move(of)), by_(std::move(by)) {}
  ~loan() {
    of_ = tensor();  // the step takes its memory back
    by_->end(nullptr);
  }
  loan(loan const&) = delete;
  loan& operator=(loan const&) = delete;

 private:
  tensor of_;
  std::shared_ptr<waiting_send> by_;
};

/// Sends a value of the type `of` without a copy: its memory is used again when the Send is done.
inline void lend(kernel_call const& call, cut_edge const& edge, type const& of) {
  auto const by = std::make_shared<waiting_send>();
  auto value = call.kept->reshaped(of.shape());
  auto* const elements = value.mutable_raw();
  auto owner = std::make_shared<loan>(std::move(value), by);
  by->later = &call.from->suspend();
  by->later->on_give_up([by](failure why) { by->end(std::move(why)); });
  try {
    call.step.exchange->send(
        edge, path_of(call),
        tensor(of.element, of.shape(),
               buffer::adopt(elements, static_cast<std::size_t>(of.bytes()), std::move(owner), true)));
  } catch (...) {  // it waits already, so it ends like a wait
    by->end(caught_failure());
  }
}

/// Sends a value of a loop, and waits while too many have not been taken.
inline void send_in_window(kernel_call const& call, cut_edge const& edge, tensor value) {
  auto const& ahead = call.step.exchange->windows();
  bool const has_room = ahead->add(edge.number, edge.window);  // before its receiver can say that it has taken it
  call.step.exchange->send(edge, path_of(call), std::move(value));
  if (has_room) return;
  auto const request = std::make_shared<room_request>(room_request{.edge = edge.number});
  suspend(call, ahead, request, [](room_request&) {});
  ahead->wait(request, edge.window);
}
/// Returns the kernel of a Send in a loop.
template <class Value> kernel windowed_send(cut_edge const& edge, Value value) {
  auto k = waiting([edge, value](kernel_call const& call) { send_in_window(call, edge, value(call)); }, false);
  k.waits_for_tasks = true;
  return k;
}

// A value that is pulled lies in the step's memory until its bytes have been sent, which may be after the kernel's
// return. Of any other value a copy is sent.
RILL_INLINE kernel send_kernel(kernel_request const& r) {
  auto const edge = edge_of(r.at.attributes);
  if (r.inputs.empty() && edge.is_counted()) return windowed_send(edge, [](auto&) { return tensor(true); });
  if (r.inputs.empty())
    return [edge](kernel_call const& call) { call.step.exchange->send(edge, path_of(call), tensor(true)); };
  if (is_short(r.at.attributes) && r.inputs[0].element != dtype::float32)
    throw error(code::invalid_argument, "only float32 is sent as 16 bits, and it has " + with_article(r.inputs[0]));
  if (!r.inputs[0].is_known())
    throw error(code::unimplemented, "it would send " + with_article(r.inputs[0]) +
                                         ", whose extents this task does not know when it plans: let what reads it run "
                                         "on the task that makes it");
  auto const copied = [of = r.inputs[0], is_short = is_short(r.at.attributes)](kernel_call const& call) {
    auto const x = tensor::borrow(of, call.in(0));
    return is_short ? shortened(x) : x.clone();
  };
  if (edge.is_counted()) return windowed_send(edge, copied);
  if (edge.pushed || edge.is_in_body() || is_short(r.at.attributes) || r.inputs[0].element == dtype::string)
    return [edge, copied](kernel_call const& call) { call.step.exchange->send(edge, path_of(call), copied(call)); };
  kernel k([edge, copied, of = r.inputs[0]](kernel_call const& call) {
    auto const* const kept = call.kept;
    if (kept && call.step.exchange->copies() && kept->element() == of.element && !kept->space())
      return lend(call, edge, of);
    call.step.exchange->send(edge, path_of(call), copied(call));
  });
  k = waiting(std::move(k), false);
  k.waits_for_tasks = k.keeps_input = true;
  return k;
}

RILL_INLINE kernel receive_kernel(kernel_request const& r) {
  auto const edge = edge_of(r.at.attributes);
  auto const give = [edge, of = r.outputs[0], is_short = is_short(r.at.attributes)](kernel_call const& call,
                                                                                    tensor came) {
    if (edge.is_counted()) call.step.exchange->took(edge);
    if (is_short && came.element() == dtype::bfloat16) came = lengthened(came);
    if (!accepts(of, came.type()))
      throw error(code::data_loss, "it received " + with_article(came.type()) + " and not " + with_article(of));
    call.give(0, std::move(came));
  };
  auto const receive = [edge, give, node = std::make_shared<std::string const>(r.at.name)](kernel_call const& call) {
    auto& from = *call.step.exchange;
    auto const path = path_of(call);
    if (auto came = from.try_receive({edge.number, path})) return give(call, std::move(*came));
    auto const request = std::make_shared<receive_request>();
    request->edge = edge;
    request->path = path;
    request->node = node;
    suspend(call, from.shared_from_this(), request,
            [call, give](receive_request& served) { give(call, std::move(served.came)); });
    try {
      from.receive(request);
    } catch (...) {  // it waits already, so it ends like a wait
      request->finished(*request, caught_failure());
    }
  };
  auto k = waiting(receive, true);
  k.waits_for_tasks = true;
  return k;
}

}  // namespace detail
#endif

}  // namespace rill
