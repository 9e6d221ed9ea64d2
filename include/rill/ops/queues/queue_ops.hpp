// Queues as operations: enqueue, dequeue, size, close (white paper §4.6).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/device/continuation.hpp"
#include "rill/dsl/expr.hpp"
#include "rill/state/container.hpp"

namespace rill::ops {

/// The attributes of all operations of a queue.
struct queue_attributes {
  std::string queue;  ///< its name in the container
  queue_order order = queue_order::fifo;
  std::int64_t capacity = 0, min_after_dequeue = 0, seed = 0;
  bool padded = false;
  std::vector<type> components;
  std::int64_t together = 0;

  template <class Owner> static constexpr auto fields_of(auto const& take, auto... more) {
    return take(field{"queue", &Owner::queue}, field{"order", &Owner::order}, field{"capacity", &Owner::capacity},
                field{"min_after_dequeue", &Owner::min_after_dequeue}, field{"seed", &Owner::seed},
                field{"padded", &Owner::padded}, field{"components", &Owner::components},
                field{"together", &Owner::together}, more...);
  }
  static constexpr auto fields(auto const& take) { return fields_of<queue_attributes>(take); }
  /// Throws error(invalid_argument) if the attributes are inconsistent.
  queue_description options() const;
  /// Throws error(invalid_argument) unless there is a value for each component.
  void expect_values(std::string_view operation, std::span<type const> x) const;
  /// Throws error(invalid_argument): a value does not have the type of its component.
  [[noreturn]] void refuse(std::string_view operation, std::size_t component, std::string const& takes,
                           type const& came) const;
};

// Only enqueue operations have inputs.
inline void expect_no_inputs(std::span<type const> x) {
  expects(x.empty(), "a queue's operation takes no inputs here");
}

/// What operations on a queue share: they have no derivative, and are neither merged nor dropped.
struct queue_operation {
  using attributes = queue_attributes;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr std::string_view rendezvous = "queue";
};

struct enqueue_rules : queue_operation {
  static constexpr std::int8_t arity = -1;
  static constexpr bool waits = true;
  static constexpr rendezvous_kind rendezvous_role = rendezvous_kind::gives;
  static constexpr std::size_t outputs = 0;
};
struct dequeue_rules : queue_operation {
  static constexpr std::int8_t arity = -2;
  static constexpr bool waits = true;
  static constexpr rendezvous_kind rendezvous_role = rendezvous_kind::frees;
  static constexpr bool dynamic_output_shape = true;
};
/// The result is a scalar.
template <dtype Answer> struct queue_question : queue_operation {
  static constexpr std::int8_t arity = -2;
  static constexpr rill::effect effect = rill::effect::reads;
  static std::vector<type> infer(attributes const& a, std::span<type const> x) {
    expect_no_inputs(x);
    a.options();
    return {type(Answer)};
  }
};

struct enqueue_op : enqueue_rules {
  using library = void;
  static constexpr std::string_view name = "enqueue", doc = "adds an element to a queue; waits while the queue is full";
  struct attributes : queue_attributes {
    std::int64_t threads = 0;  ///< of input functions: threads that run it
    static constexpr auto fields(auto const& take) {
      return fields_of<attributes>(take, field{"threads", &attributes::threads});
    }
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct enqueue_many_op : enqueue_rules {
  using library = void;
  static constexpr std::string_view name = "enqueue_many",
                                    doc = "adds each row to a queue as an element; waits while the queue is full";
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
/// Whether a node adds elements to a queue.
inline bool is_enqueue(node const& n) {
  return n.op == &definition<enqueue_op>() || n.op == &definition<enqueue_many_op>();
}
struct dequeue_op : dequeue_rules {
  using library = void;
  static constexpr std::string_view name = "dequeue",
                                    doc = "removes an element from a queue; waits while the queue is empty";
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct dequeue_many_op : dequeue_rules {
  using library = void;
  static constexpr std::string_view name = "dequeue_many",
                                    doc =
                                        "removes `n` elements from a queue, stacked; waits until they have come; an "
                                        "operand may say how many";
  struct attributes : queue_attributes {
    std::int64_t count = 0;  ///< unless an operand says it
    bool fewer = false;      ///< accepts fewer at the end of a closed queue
    static constexpr auto fields(auto const& take) {
      return fields_of<attributes>(take, field{"count", &attributes::count}, field{"fewer", &attributes::fewer});
    }
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct queue_close_op : queue_operation {
  using library = void;
  static constexpr bool waits = true;
  static constexpr std::string_view name = "queue_close",
                                    doc = "closes a queue to new elements; waits until all waiting enqueues are done";
  static constexpr std::int8_t arity = -2;
  static constexpr std::size_t outputs = 0;
  struct attributes : queue_attributes {
    bool cancel = false;  ///< waiting enqueues fail
    static constexpr auto fields(auto const& take) {
      return fields_of<attributes>(take, field{"cancel", &attributes::cancel});
    }
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct queue_size_op : queue_question<dtype::int64> {
  using library = void;
  static constexpr std::string_view name = "queue_size", doc = "the number of elements in a queue";
  static kernel cpu(kernel_request const& r);
};
struct queue_is_closed_op : queue_question<dtype::boolean> {
  using library = void;
  static constexpr std::string_view name = "queue_is_closed", doc = "whether a queue is closed";
  static kernel cpu(kernel_request const& r);
};

inline queue_description queue_attributes::options() const {
  queue_description o{order, capacity, min_after_dequeue, seed, padded, components, together};
  o.check();
  return o;
}

#if RILL_RUNTIME
RILL_INLINE void queue_attributes::expect_values(std::string_view operation, std::span<type const> x) const {
  if (x.size() != components.size())
    throw error(code::invalid_argument, std::string(operation) + ": an element of the queue '" + queue + "' has " +
                                            std::to_string(components.size()) + " components, and " +
                                            std::to_string(x.size()) +
                                            (x.size() == 1 ? " value came" : " values came"));
}

RILL_INLINE void queue_attributes::refuse(std::string_view operation, std::size_t component, std::string const& takes,
                                          type const& came) const {
  throw error(code::invalid_argument, std::string(operation) + ": component " + std::to_string(component) +
                                          " of the queue '" + queue + "' takes " + takes + ", and " +
                                          with_article(came) + " came");
}

RILL_INLINE std::vector<type> enqueue_op::infer(attributes const& a, std::span<type const> x) {
  a.options();
  expects(a.threads >= 0, "enqueue: the number of threads is negative");
  a.expect_values(name, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!accepts(a.components[i], x[i])) a.refuse(name, i, with_article(a.components[i]), x[i]);
  return {};
}

RILL_INLINE std::vector<type> enqueue_many_op::infer(attributes const& a, std::span<type const> x) {
  a.options();
  a.expect_values(name, x);
  dim count = unknown;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!x[i].has_rank()) continue;
    if (x[i].rank == 0 || !accepts(a.components[i], row_of(x[i])))
      a.refuse(name, i, "rows of " + a.components[i].text(), x[i]);
    count = agree(count, x[i][0], "enqueue_many: the values have different numbers of rows");
  }
  return {};
}

RILL_INLINE std::vector<type> dequeue_op::infer(attributes const& a, std::span<type const> x) {
  expect_no_inputs(x);
  expects(a.order != queue_order::bucketed, "dequeue: elements of a bucket queue must be dequeued together");
  return a.options().components;
}

RILL_INLINE std::vector<type> dequeue_many_op::infer(attributes const& a, std::span<type const> x) {
  expects(x.size() <= 1, "dequeue_many: it takes at most one operand, the number of elements");
  if (!x.empty())
    expects(dtypes::indices.contains(x[0].element) && (!x[0].has_rank() || x[0].is_scalar()),
            "dequeue_many: the number of elements is not a scalar of int32 or int64");
  expects(a.count >= 0, "dequeue_many: the number of elements is negative");
  expects(a.order != queue_order::bucketed || (x.empty() && a.count == a.together),
          "dequeue_many: the number of elements is not the bucket queue's `together`");
  auto types = a.options().components;
  for (auto& t : types) {
    expects(t.has_rank(), "dequeue_many: components of unknown rank can't be stacked");
    t = stacked(t, a.fewer || !x.empty() ? unknown : dim(a.count));
  }
  return types;
}

RILL_INLINE std::vector<type> queue_close_op::infer(attributes const& a, std::span<type const> x) {
  expect_no_inputs(x);
  a.options();
  return {};
}

#endif

}  // namespace rill::ops

#include "rill/ops/queues/queue_kernels.ipp"
