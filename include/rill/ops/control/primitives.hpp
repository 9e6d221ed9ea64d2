// The primitives of dynamic control flow: switch, merge, enter, exit, next_iteration, loop_cond (white paper §4.4,
// where exit is called Leave; EuroSys'18 §3.1). cond and while_loop are lowered to them for tagged execution; graphs of
// other systems contain them.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rill/ops/control/body.hpp"

namespace rill::ops {

/// What primitives share: they run only in tagged execution, where values may be dead.
struct flow_primitive {
  static constexpr op_kind kind = op_kind::primitive;
  static constexpr rill::effect effect = rill::effect::reads;  // never merged or folded: an input may be dead
  static constexpr std::string_view no_gradient =
      "the primitives of control flow have no gradient: write the branch or loop with cond or while_loop";
};

struct switch_op : flow_primitive {
  using library = void;
  static constexpr std::string_view
      name = "switch",
      doc = "x on output 1 if the predicate is true, else on output 0; the other output is dead";
  static constexpr op_kind kind = op_kind::switch_;
  static constexpr std::int8_t arity = 2;
  static constexpr std::size_t outputs = 2;
  static constexpr std::array<type, 2> infer(no_attributes, type const& x, type const& predicate, checks expects = {}) {
    expects(accepts(of<bool>, predicate), "switch: the predicate must be a scalar of bool");
    return {x, x};
  }
};

struct merge_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "merge", doc = "the first input that comes and is not dead, and its index";
  static constexpr op_kind kind = op_kind::merge;
  static constexpr std::int8_t arity = -1;
  static constexpr std::size_t outputs = 2;
  static constexpr std::array<type, 2> infer(no_attributes, std::span<type const> x, checks expects = {}) {
    type t = x[0];
    for (auto const& other : x) {
      expects(other.element == t.element, "merge: its inputs must be of one element type");
      if (other.rank != t.rank) t = type::of_unknown_rank(t.element);
      for (std::size_t i = 0; t.has_rank() && i < t.rank; ++i)
        if (t[i] != other[i]) t[i] = unknown;
    }
    return {t, dtype::int32};
  }
};

struct enter_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "enter",
                                    doc = "x in a frame: in its first iteration, or as a constant in every iteration";
  static constexpr op_kind kind = op_kind::enter;
  static constexpr std::int8_t arity = 1;
  struct attributes {
    std::string frame;                      ///< its name; frames of one name and one surrounding iteration are the same
    bool constant = false;                  ///< the same x in all iterations
    std::int64_t parallel_iterations = 10;  ///< the maximum number at once
    static constexpr auto fields(auto const& take) {
      return take(field{"frame", &attributes::frame}, field{"constant", &attributes::constant},
                  field{"parallel_iterations", &attributes::parallel_iterations});
    }
  };
  static type infer(attributes const& a, type const& x);
};

struct exit_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "exit", doc = "x outside of its frame (Leave in the white paper)";
  static constexpr op_kind kind = op_kind::exit;
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
};

struct next_iteration_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "next_iteration", doc = "passes x to a merge in the next iteration";
  static constexpr op_kind kind = op_kind::next_iteration;
  static constexpr std::int8_t arity = 2;
  static constexpr std::size_t outputs = 0;
  static constexpr std::uint32_t shape_only = 2;
  static constexpr bool back_edge = true;
  static constexpr std::array<type, 0> infer(no_attributes, type const& x, type const& merge, checks expects = {}) {
    expects(accepts(merge, x) || accepts(x, merge), "next_iteration: x must be of the merge's type");
    return {};
  }
};

struct loop_cond_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "loop_cond", doc = "marks the predicate of a loop";
  static constexpr op_kind kind = op_kind::loop_cond;
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expects(accepts(of<bool>, x), "loop_cond: it must be a scalar of bool");
    return x;
  }
};

/// Counts the iterations of a frame; its result is outside of the frame.
struct iterations_op : flow_primitive {
  using library = void;
  static constexpr std::string_view
      name = "iterations",
      doc = "the number of iterations of the frame in which x was not dead, outside of the frame";
  static constexpr op_kind kind = op_kind::iterations;
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const&) { return dtype::int64; }
};

/// A further primitive of loops over rows: the count comes from outside of the frame.
struct goes_on_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "goes_on", doc = "whether the count exceeds the number of this iteration";
  static constexpr std::int8_t arity = 1;
  struct attributes {
    std::int64_t most = -1;  ///< the number of rows; -1: unknown
    static constexpr auto fields(auto const& take) { return take(field{"most", &attributes::most}); }
  };
  static type infer(attributes const&, type const& count) {
    expects(accepts(of<std::int64_t>, count), "goes_on: the count must be a scalar of int64");
    return dtype::boolean;
  }
  static kernel cpu(kernel_request const& r);
};

struct row_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "row", doc = "the row of x with the number of this iteration";
  static constexpr std::int8_t arity = 2;
  struct attributes {
    bool backwards = false;  ///< the last row first
    static constexpr auto fields(auto const& take) { return take(field{"backwards", &attributes::backwards}); }
  };
  static type infer(attributes const&, type const& x, type const& count);
  static kernel cpu(kernel_request const& r);
};

struct collect_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "collect",
                                    doc = "the values of x from all iterations, stacked, outside of the frame";
  static constexpr op_kind kind = op_kind::collect;
  static constexpr std::int8_t arity = -1;
  struct attributes {
    std::int64_t rows = -1;  ///< the number of rows; -1: unknown
    bool backwards = false;  ///< the last row first; then a second input is the count
    bool saved = false;      ///< saved for a derivative
    static constexpr auto fields(auto const& take) {
      return take(field{"rows", &attributes::rows}, field{"backwards", &attributes::backwards},
                  field{"saved", &attributes::saved});
    }
  };
  static std::array<type, 1> infer(attributes const& a, std::span<type const> x);
};

/// Chooses the random numbers of an iteration by its row, so that a backward loop draws the same.
struct drawn_by_row_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "drawn_by_row", doc = "chooses the random numbers that this iteration draws";
  static constexpr std::string_view draws_random = "key";
  static constexpr std::int8_t arity = -2;
  static constexpr std::size_t outputs = 0;
  struct attributes {
    std::int64_t key = 0;    ///< the key of this loop's random numbers
    bool backwards = false;  ///< the last row first; then an input is the count
    static constexpr auto fields(auto const& take) {
      return take(field{"key", &attributes::key}, field{"backwards", &attributes::backwards});
    }
  };
  static std::array<type, 0> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

#if RILL_RUNTIME
#include <string>

#include "rill/base/philox.hpp"
#include "rill/device/step.hpp"
#include "rill/tensor/elements.hpp"

namespace rill::ops {

RILL_INLINE kernel goes_on_op::cpu(kernel_request const& r) {
  return kernel([most = decode<attributes>(r.at.attributes).most](kernel_call const& call) {
    auto const count = *call.in<std::int64_t>(0);
    if (count < 0 || (most >= 0 && count > most))
      throw error(code::invalid_argument,
                  "loop: the given count, " + std::to_string(count) + ", is negative or more than there are rows");
    *call.out<bool>(0) = call.step.iteration < count;
  });
}

RILL_INLINE kernel row_op::cpu(kernel_request const& r) {
  bool const backwards = decode<attributes>(r.at.attributes).backwards;
  auto const element = r.outputs[0].element;
  auto const bytes = r.outputs[0].bytes();
  auto const rows = r.inputs[0][0];
  return kernel([=](kernel_call const& call) {
    auto const i = call.step.iteration, count = *call.in<std::int64_t>(1);
    auto const row = backwards ? count - 1 - i : i;
    if (row < 0 || row >= count || (rows.known() && row >= rows.extent))
      throw error(code::invalid_argument, "row: there is no row " + std::to_string(row));
    copy_elements(element, call.out(0), call.in<std::byte>(0) + static_cast<std::size_t>(row) * bytes,
                  bytes / size_of(element));
  });
}

RILL_INLINE kernel drawn_by_row_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return kernel([key = static_cast<std::uint64_t>(a.key), backwards = a.backwards](kernel_call const& call) {
    auto const i = call.step.iteration;
    auto const row = backwards ? *call.in<std::int64_t>(0) - 1 - i : i;
    call.step.stream =
        random_stream::key_of(random_stream::key_of(call.step.stream, key), static_cast<std::uint64_t>(row));
  });
}

}  // namespace rill::ops
#endif

namespace rill {

/// Control flow from primitives. A graph that contains them runs unchanged, without rewrites; they have no derivative.
/// The output that a switch does not choose is dead, and so is the `exit` of an iteration that is not the last. A node
/// with a dead input does not run, and its outputs are dead, up to a merge. Fetching a dead value fails with
/// error(failed_precondition). All extents in such a step must be known when it begins; otherwise it fails with
/// error(unimplemented).
namespace tagged {

/// Returns Returns x on the output that `predicate` chooses: `auto [no, yes] = switch_(x, predicate)`.
template <operand X, operand P> auto switch_(X x, P predicate) { return record<ops::switch_op>(x, predicate); }

/// Returns the first input that is not dead, and its index as int32: `auto [y, which] = merge(a, b)`. In a loop, merge
/// the value that enters; `next_iteration` adds the others.
template <operand... X>
  requires(sizeof...(X) > 0)
auto merge(X... x) {
  return record<ops::merge_op>(x...);
}

/// Options of enter.
struct into {
  std::string frame;                      ///< its name
  bool constant = false;                  ///< the same value in all iterations
  std::int64_t parallel_iterations = 10;  ///< the maximum number at once; the first enter of a frame sets it
};
/// Returns Returns x in a frame: the first value of a loop variable, or a constant in all iterations.
template <operand X> X enter(X x, into const& f) {
  auto const v = record_erased<ops::enter_op>(detail::graph_of(x), {f.frame, f.constant, f.parallel_iterations}, {x});
  if constexpr (typed<X>) return X{v};
  else return v;
}
/// Returns Returns x outside of its frame, from the iteration in which it is not dead.
template <operand X> auto exit(X x) { return record<ops::exit_op>(x); }
/// Passes x to `merged`, a merge of this frame, in the next iteration.
inline operation next_iteration(value x, value merged) {
  auto& g = detail::graph_of(x);
  if (!merged || merged.origin().op->kind != op_kind::merge || merged.port != 0)
    throw error(code::invalid_argument, "next_iteration: the second value must be that of a merge");
  return record_erased<ops::next_iteration_op>(g, {}, {x, merged});
}
/// Marks the predicate of a loop's switches and returns it. A frame may have several, each for its own switches.
template <operand P> auto loop_cond(P predicate) { return record<ops::loop_cond_op>(predicate); }

}  // namespace tagged

#if RILL_RUNTIME

namespace ops {

RILL_INLINE type enter_op::infer(attributes const& a, type const& x) {
  expects(!a.frame.empty(), "enter: the frame must have a name");
  expects(a.parallel_iterations > 0 && a.parallel_iterations <= 4096,
          "enter: the number of parallel iterations must be between 1 and 4096");
  return x;
}

RILL_INLINE type row_op::infer(attributes const&, type const& x, type const& count) {
  expects(x.has_rank() && x.rank > 0, "row: x must have rows");
  expects(accepts(of<std::int64_t>, count), "row: the count must be a scalar of int64");
  return row_of(x);
}

RILL_INLINE std::array<type, 1> collect_op::infer(attributes const& a, std::span<type const> x) {
  expects(x.size() == (a.backwards ? 2u : 1u), "collect: a row, and the count if the last row comes first");
  expects(!a.backwards || accepts(of<std::int64_t>, x[1]), "collect: the count must be a scalar of int64");
  return {stacked(x[0], a.rows < 0 ? unknown : dim(a.rows))};
}

RILL_INLINE std::array<type, 0> drawn_by_row_op::infer(attributes const& a, std::span<type const> x) {
  expects(x.size() == (a.backwards ? 1u : 0u), "drawn_by_row: the count if the last row comes first, else nothing");
  expects(!a.backwards || accepts(of<std::int64_t>, x[0]), "drawn_by_row: the count must be a scalar of int64");
  return {};
}

}  // namespace ops

#endif

}  // namespace rill
