// Accumulators of gradients: an update waits for the average of `n` gradients.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/ops/base/waiting.hpp"
#include "rill/ops/queues/queue_ops.hpp"
#include "rill/state/container.hpp"

namespace rill::ops {

struct accumulator_attributes {
  std::string accumulator;  ///< its name in the container
  type of;                  ///< of a gradient
  bool sparse = false;
  static constexpr auto fields(auto const& take) {
    return take(field{"accumulator", &accumulator_attributes::accumulator}, field{"of", &accumulator_attributes::of},
                field{"sparse", &accumulator_attributes::sparse});
  }
  void check() const;
};

/// What operations of an accumulator share.
struct accumulator_rules {
  using attributes = accumulator_attributes;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr std::string_view rendezvous = "accumulator";
  static constexpr rendezvous_kind rendezvous_role = rendezvous_kind::gives;
};
inline void expect_step(type const& t) {
  expects(accepts(of<std::int64_t>, t), "an accumulator's step is a scalar of int64");
}

struct accumulator_apply_op : accumulator_rules {
  using library = void;
  static constexpr std::string_view
      name = "accumulator_apply",
      doc = "adds the gradient of a step (indices and rows for a sparse accumulator); drops a stale one";
  static constexpr std::int8_t arity = -1;
  static constexpr std::size_t outputs = 0;
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct accumulator_average_op : accumulator_rules {
  using library = void;
  static constexpr rendezvous_kind rendezvous_role = rendezvous_kind::takes;
  static constexpr bool waits = true;
  static constexpr std::string_view
      name = "accumulator_average",
      doc = "the average of the gradients in an accumulator, which it empties; waits until there are enough";
  static constexpr std::int8_t arity = -2;
  static constexpr bool dynamic_output_shape = true;
  struct attributes {
    std::string accumulator;
    type of;
    bool sparse = false;
    std::int64_t wanted = 1;
    static constexpr auto fields(auto const& take) {
      return take(field{"accumulator", &attributes::accumulator}, field{"of", &attributes::of},
                  field{"sparse", &attributes::sparse}, field{"wanted", &attributes::wanted});
    }
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct accumulator_count_op : accumulator_rules {
  using library = void;
  static constexpr std::string_view name = "accumulator_count", doc = "the number of gradients since the last average";
  static constexpr std::int8_t arity = -2;
  static constexpr rill::effect effect = rill::effect::reads;
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};
struct accumulator_set_step_op : accumulator_rules {
  using library = void;
  static constexpr std::string_view
      name = "accumulator_set_step",
      doc = "sets the step of an accumulator; gradients of earlier steps are stale from now on";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 0;
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};

#if RILL_RUNTIME
RILL_INLINE kernel accumulator_apply_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  std::vector<type> const types(r.inputs.begin(), r.inputs.end());
  if (!a.sparse)
    return kernel([to = r.state.accumulator(a.accumulator, a.of), types](kernel_call const& call) {
      to->apply(tensor::borrow(types[0], call.in(0)), *call.in<std::int64_t>(1), call.threads);
    });
  return kernel([to = r.state.sparse_accumulator(a.accumulator, a.of), types](kernel_call const& call) {
    to->apply({tensor::borrow(types[0], call.in(0)), tensor::borrow(types[1], call.in(1))}, *call.in<std::int64_t>(2),
              call.threads);
  });
}
RILL_INLINE kernel accumulator_average_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const of = [wanted = a.wanted]<class State>(std::shared_ptr<State> from) {
    return detail::waiting(
        [from, wanted](kernel_call const& call) {
          auto const request = std::make_shared<typename State::request>();
          request->wanted = wanted;
          detail::suspend(call, from, request, [to = call.owned](auto& served) {
            std::move(served.average.begin(), served.average.end(), to);
          });
          from->take(request, call.threads);
        },
        true);
  };
  return a.sparse ? of(r.state.sparse_accumulator(a.accumulator, a.of)) : of(r.state.accumulator(a.accumulator, a.of));
}
RILL_INLINE kernel accumulator_count_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const of = [](auto from) {
    return kernel([from](kernel_call const& call) { *call.out<std::int64_t>(0) = from->count(); });
  };
  return a.sparse ? of(r.state.sparse_accumulator(a.accumulator, a.of)) : of(r.state.accumulator(a.accumulator, a.of));
}
RILL_INLINE kernel accumulator_set_step_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const of = [](auto to) {
    return kernel([to](kernel_call const& call) { to->set_step(*call.in<std::int64_t>(0)); });
  };
  return a.sparse ? of(r.state.sparse_accumulator(a.accumulator, a.of)) : of(r.state.accumulator(a.accumulator, a.of));
}
#endif

}  // namespace rill::ops

namespace rill {

/// An accumulator of gradients of type T in the session's container; an update takes their average (OSDI'16 §4.4).
template <type T> class accumulator {
 public:
  static_assert(is_differentiable(T.element), "an accumulator's elements have no derivatives");
  explicit accumulator(graph& g, std::string name) : graph_(&g), about_{std::move(name), T} {}

  /// Adds a gradient that was computed in that step; drops it if the accumulator's step is later.
  template <operand X, operand Step> operation apply(X gradient, Step step) const {
    if constexpr (typed<X>)
      static_assert(accepts(T, X::static_type), "accumulator: the gradient is not of the accumulator's type");
    return record_erased<ops::accumulator_apply_op>(*graph_, about_, {gradient, step});
  }
  /// Waits for `wanted` gradients or more and returns their average. The accumulator is then empty, and its step one
  /// higher.
  expr<T> average(std::int64_t wanted) const try {
    return {record_erased<ops::accumulator_average_op>(*graph_, {about_.accumulator, T, false, wanted}, {})};
  } catch (...) {
    rethrow_as_error();
  }
  /// Returns the number of gradients since the last average.
  expr<of<std::int64_t>> count() const { return {record_erased<ops::accumulator_count_op>(*graph_, about_, {})}; }
  operation set_step(value step) const { return record_erased<ops::accumulator_set_step_op>(*graph_, about_, {step}); }

 private:
  graph* graph_;
  ops::accumulator_attributes about_;
};

/// An accumulator of sparse gradients, such as gather's, of a tensor of type T: each row is averaged over the gradients
/// that contain it.
template <type T> class sparse_accumulator {
 public:
  static_assert(is_differentiable(T.element), "an accumulator's elements have no derivatives");
  static_assert(T.has_rank() && T.rank > 0, "a sparse accumulator's type must have rows");
  explicit sparse_accumulator(graph& g, std::string name) : graph_(&g), about_{std::move(name), T, true} {}

  template <operand Step> operation apply(value which, value rows, Step step) const {
    return record_erased<ops::accumulator_apply_op>(*graph_, about_, {which, rows, step});
  }
  /// Waits for `wanted` gradients and returns the indices of the rows, ascending, and their averages.
  auto average(std::int64_t wanted) const try {
    auto const node = record_erased<ops::accumulator_average_op>(*graph_, {about_.accumulator, T, true, wanted}, {});
    return std::tuple{expr<of<std::int64_t, unknown>>{node},
                      expr<stacked(row_of(T), unknown)>{{node.graph, node.node, 1}}};
  } catch (...) {
    rethrow_as_error();
  }
  expr<of<std::int64_t>> count() const { return {record_erased<ops::accumulator_count_op>(*graph_, about_, {})}; }
  operation set_step(value step) const { return record_erased<ops::accumulator_set_step_op>(*graph_, about_, {step}); }

 private:
  graph* graph_;
  ops::accumulator_attributes about_;
};

#if RILL_RUNTIME

namespace ops {

RILL_INLINE void accumulator_attributes::check() const {
  expects(is_differentiable(of.element), "an accumulator's elements have no derivatives");
  expects(!sparse || (of.has_rank() && of.rank > 0 && row_of(of).is_known()),
          "a sparse accumulator's type must have rows of known extents");
}

RILL_INLINE std::vector<type> accumulator_apply_op::infer(attributes const& a, std::span<type const> x) {
  a.check();
  expects(x.size() == (a.sparse ? 3u : 2u), "accumulator_apply: it takes a gradient and its step");
  expect_step(x.back());
  if (!a.sparse) {
    expects(accepts(a.of, x[0]), "accumulator_apply: the gradient is not of the accumulator's type");
    return {};
  }
  expects(accepts(of<std::int64_t, unknown>, x[0]), "accumulator_apply: the indices are not a vector of int64");
  if (!x[1].has_rank()) return {};
  expects(x[1].rank > 0 && x[1].element == a.of.element && accepts(row_of(a.of), row_of(x[1])),
          "accumulator_apply: the rows are not of the accumulator's type");
  if (x[0].has_rank()) agree(x[0][0], x[1][0], "accumulator_apply: there is not one index for each row");
  return {};
}

RILL_INLINE std::vector<type> accumulator_average_op::infer(attributes const& a, std::span<type const> x) {
  accumulator_attributes{a.accumulator, a.of, a.sparse}.check();
  expects(x.empty(), "accumulator_average: it takes no inputs");
  expects(a.wanted > 0, "accumulator_average: the number of gradients to wait for must be positive");
  if (!a.sparse) return {a.of};
  return {type(dtype::int64, {unknown}), stacked(row_of(a.of), unknown)};
}

RILL_INLINE std::vector<type> accumulator_count_op::infer(attributes const& a, std::span<type const> x) {
  a.check();
  expects(x.empty(), "accumulator_count: it takes no inputs");
  return {type(dtype::int64)};
}

RILL_INLINE std::vector<type> accumulator_set_step_op::infer(attributes const& a, std::span<type const> x) {
  a.check();
  expect_step(x[0]);
  return {};
}

}  // namespace ops

#endif

}  // namespace rill
