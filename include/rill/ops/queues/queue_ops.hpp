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

/// What all operations of a queue say of it.
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
  /// error(invalid_argument) if they make no sense.
  queue_description options() const;
  /// error(invalid_argument) if there is not a value for each component.
  void expect_values(std::string_view operation, std::span<type const> x) const;
  /// error(invalid_argument): what came for a component is not what it takes.
  [[noreturn]] void refuse(std::string_view operation, std::size_t component, std::string_view takes,
                           type const& came) const;
};

// Their inputs are none, but for what is enqueued.
inline void expect_no_inputs(std::span<type const> x) {
  expects(x.empty(), "a queue's operation takes no inputs here");
}

/// What operations on a queue share: none has a gradient, and each happens as often as it runs.
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
/// Its answer is a scalar.
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
  static constexpr std::string_view name = "enqueue", doc = "puts an element into a queue; waits while it is full";
  struct attributes : queue_attributes {
    std::int64_t threads = 0;  ///< of input functions: how many threads run it once the input is started
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
                                    doc = "puts each row into a queue, as an element; waits while it is full";
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
/// Whether a node puts something into a queue.
inline bool is_enqueue(node const& n) {
  return n.op == &definition<enqueue_op>() || n.op == &definition<enqueue_many_op>();
}
struct dequeue_op : dequeue_rules {
  using library = void;
  static constexpr std::string_view name = "dequeue", doc = "takes an element out of a queue; waits for one";
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct dequeue_many_op : dequeue_rules {
  using library = void;
  static constexpr std::string_view name = "dequeue_many",
                                    doc = "takes so many elements out of a queue, stacked; waits for them";
  struct attributes : queue_attributes {
    std::int64_t count = 0;
    bool fewer = false;  ///< at the end of a closed queue fewer will do
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
                                    doc = "takes no new elements; waits until those that wait to get in are in";
  static constexpr std::int8_t arity = -2;
  static constexpr std::size_t outputs = 0;
  struct attributes : queue_attributes {
    bool cancel = false;  ///< those that wait to get in fail
    static constexpr auto fields(auto const& take) {
      return fields_of<attributes>(take, field{"cancel", &attributes::cancel});
    }
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct queue_size_op : queue_question<dtype::int64> {
  using library = void;
  static constexpr std::string_view name = "queue_size", doc = "how many elements are in a queue";
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

RILL_INLINE void queue_attributes::refuse(std::string_view operation, std::size_t component, std::string_view takes,
                                          type const& came) const {
  throw error(code::invalid_argument, std::string(operation) + ": component " + std::to_string(component) +
                                          " of the queue '" + queue + "' takes " + std::string(takes) + " " +
                                          components[component].text() + ", and a " + came.text() + " came");
}

RILL_INLINE std::vector<type> enqueue_op::infer(attributes const& a, std::span<type const> x) {
  a.options();
  expects(a.threads >= 0, "enqueue: the number of threads is negative");
  a.expect_values(name, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!accepts(a.components[i], x[i])) a.refuse(name, i, "a", x[i]);
  return {};
}

RILL_INLINE std::vector<type> enqueue_many_op::infer(attributes const& a, std::span<type const> x) {
  a.options();
  a.expect_values(name, x);
  dim count = unknown;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!x[i].has_rank()) continue;
    if (x[i].rank == 0 || !accepts(a.components[i], row_of(x[i]))) a.refuse(name, i, "rows of", x[i]);
    count = agree(count, x[i][0], "enqueue_many: the values have different numbers of rows");
  }
  return {};
}

RILL_INLINE std::vector<type> dequeue_op::infer(attributes const& a, std::span<type const> x) {
  expect_no_inputs(x);
  expects(a.order != queue_order::bucketed, "dequeue: the elements of a bucket queue leave together");
  return a.options().components;
}

RILL_INLINE std::vector<type> dequeue_many_op::infer(attributes const& a, std::span<type const> x) {
  expect_no_inputs(x);
  expects(a.count >= 0, "dequeue_many: the number of elements is negative");
  expects(a.order != queue_order::bucketed || a.count == a.together,
          "dequeue_many: another number of elements leave a bucket queue together");
  auto types = a.options().components;
  for (auto& t : types) {
    expects(t.has_rank(), "dequeue_many: components of unknown rank can't be stacked");
    t = stacked(t, a.fewer ? unknown : dim(a.count));
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
