// The kernels of queues: they leave a request at the queue and continue when it is served.
#pragma once
#include "rill/ops/array/box.hpp"
#include "rill/ops/base/waiting.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <cstring>
#include <iterator>

namespace rill::detail {

/// Adds elements to a queue; waits until there is room for all of them.
RILL_INLINE void put_in(std::shared_ptr<queue_state> const& q, std::span<queue_element> elements,
                        kernel_call const& call) {
  if (q->try_enqueue(elements)) return;
  auto const request = std::make_shared<queue_request>();
  request->elements.assign(std::move_iterator(elements.begin()), std::move_iterator(elements.end()));
  suspend(call, q, request, [](queue_request&) {});
  q->enqueue(request);
}

/// Removes `wanted` elements from a queue and passes them to `take`; waits for all of them, or, at the end of a closed
/// queue, accepts `fewer`. `into` has room for them, or is smaller if they are not there yet.
template <class Take>
void take_out(std::shared_ptr<queue_state> const& q, std::span<queue_element> into, std::size_t wanted, bool fewer,
              kernel_call const& call, Take take) {
  if (into.size() == wanted && q->try_dequeue(into)) return take(into);
  auto const request = std::make_shared<queue_request>();
  request->wanted = wanted;
  request->fewer = fewer;
  suspend(call, q, request, [take = std::move(take)](queue_request& served) { take(std::span(served.elements)); });
  q->dequeue(request);
}

/// Copies elements from the step's memory to a new tensor.
RILL_INLINE tensor copied(type const& t, void const* from) {
  tensor made(t.element, t.shape());
  copy_elements(t.element, made.mutable_raw(), from, static_cast<std::size_t>(made.elements()));
  return made;
}

/// Returns one component of many elements, stacked; error(invalid_argument) if they are of different extents and not
/// padded.
RILL_INLINE tensor stack_component(std::span<queue_element const> elements, std::size_t which, type const& component,
                                   bool padded) {
  shape row = elements.empty() ? shape{} : elements[0].parts[which].shape();
  if (elements.empty())
    for (std::size_t i = 0; i < component.rank; ++i) row.push_back(component[i].known() ? component[i].extent : 0);
  bool same = true;
  for (auto const& e : elements) {
    auto const& s = e.parts[which].shape();
    same = same && s == row;
    for (std::size_t i = 0; i < row.count; ++i) row[i] = std::max(row[i], s[i]);
  }
  if (!same && !padded)
    throw error(code::invalid_argument,
                "the elements of the queue have different extents, and can be stacked by a padding queue only");
  shape all{static_cast<std::int64_t>(elements.size())};
  for (std::size_t i = 0; i < row.count; ++i) all.push_back(row[i]);
  tensor made(component.element, all);
  if (!same && component.element != dtype::string) std::memset(made.mutable_raw(), 0, made.bytes());
  auto const stride =
      static_cast<std::size_t>(elements.empty() ? 0 : made.elements() / made.shape()[0]) * size_of(component.element);
  auto* to = static_cast<std::byte*>(made.mutable_raw());
  for (auto const& e : elements) {
    auto const& part = e.parts[which];
    auto const& s = part.shape();
    ops::box_copy(component.element, s, {row, {}}, {s, {}})(to, part.raw(), {});
    to += stride;
  }
  return made;
}

}  // namespace rill::detail

namespace rill::ops {

RILL_INLINE kernel enqueue_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return detail::waiting(
      [q = r.state.queue(a.queue, a.options()),
       types = std::vector<type>(r.inputs.begin(), r.inputs.end())](kernel_call const& call) {
        queue_element e;
        e.parts.reserve(types.size());
        for (std::size_t i = 0; i < types.size(); ++i) e.parts.push_back(detail::copied(types[i], call.in(i)));
        detail::put_in(q, {&e, 1}, call);
      },
      false);
}

RILL_INLINE kernel enqueue_many_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return detail::waiting(
      [q = r.state.queue(a.queue, a.options()),
       types = std::vector<type>(r.inputs.begin(), r.inputs.end())](kernel_call const& call) {
        std::vector<queue_element> elements(static_cast<std::size_t>(types[0][0].extent));
        for (std::size_t i = 0; i < types.size(); ++i) {
          auto const all = detail::copied(types[i], call.in(i));
          auto const row = row_of(types[i]).shape();
          for (std::size_t k = 0; k < elements.size(); ++k) {
            auto const at = static_cast<std::int64_t>(k);
            elements[k].parts.push_back(all.rows(at, at + 1).reshaped(row));
          }
        }
        detail::put_in(q, elements, call);
      },
      false);
}

RILL_INLINE kernel dequeue_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return detail::waiting(
      [q = r.state.queue(a.queue, a.options())](kernel_call const& call) {
        queue_element e;
        detail::take_out(q, {&e, 1}, 1, false, call, [to = call.owned](std::span<queue_element> taken) {
          std::move(taken[0].parts.begin(), taken[0].parts.end(), to);
        });
      },
      true);
}

/// Returns the number of elements that an operand asks for.
RILL_INLINE std::size_t elements_asked_for(void const* at, dtype element) {
  auto const n =
      element == dtype::int64 ? *static_cast<std::int64_t const*>(at) : *static_cast<std::int32_t const*>(at);
  if (n < 0 || n > INT32_MAX)
    throw error(code::invalid_argument, "dequeue_many: the number of elements is " + std::to_string(n) +
                                            ", which is not between 0 and 2147483647");
  return static_cast<std::size_t>(n);
}

RILL_INLINE kernel dequeue_many_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  bool const asked = !r.inputs.empty();
  return detail::waiting(
      [q = r.state.queue(a.queue, a.options()), known = static_cast<std::size_t>(a.count), asked,
       element = asked ? r.inputs[0].element : dtype::int64, fewer = a.fewer](kernel_call const& call) {
        auto const count = asked ? elements_asked_for(call.in(0), element) : known;
        // No more than there are, so that a number which is too large takes no memory.
        std::vector<queue_element> elements(std::min(count, static_cast<std::size_t>(q->size())));
        detail::take_out(q, elements, count, fewer, call, [to = call.owned, q](std::span<queue_element> taken) {
          auto const& o = q->options();
          for (std::size_t i = 0; i < o.components.size(); ++i)
            to[i] = detail::stack_component(taken, i, o.components[i], o.padded);
        });
      },
      true);
}

RILL_INLINE kernel queue_close_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return detail::waiting(
      [q = r.state.queue(a.queue, a.options()), cancel = a.cancel](kernel_call const& call) {
        auto const request = std::make_shared<queue_request>();
        detail::suspend(call, q, request, [](queue_request&) {});
        q->close(request, cancel);
      },
      false);
}

RILL_INLINE kernel queue_size_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return kernel(
      [q = r.state.queue(a.queue, a.options())](kernel_call const& call) { *call.out<std::int64_t>(0) = q->size(); });
}

RILL_INLINE kernel queue_is_closed_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return kernel(
      [q = r.state.queue(a.queue, a.options())](kernel_call const& call) { *call.out<bool>(0) = q->closed(); });
}

}  // namespace rill::ops
#endif
