// The primitives of dynamic control flow: switch, merge, enter, exit, next_iteration, loop_cond (white paper §4.4,
// where exit is called Leave; EuroSys'18 §3.1). cond and while_loop are lowered to them where a step needs tags; graphs
// of other systems are written in them.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rill/ops/control/body.hpp"

namespace rill::ops {

/// What they share: they run in tagged execution alone, and only there has it a meaning to be dead.
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
      doc = "x on output 1 where the predicate is true, else on output 0; the other is dead";
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
  static constexpr std::string_view name = "merge",
                                    doc = "the first of its inputs that comes and is not dead, and which one that was";
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
  static constexpr std::string_view name = "enter", doc = "x in a frame: in its first iteration, or in all of them";
  static constexpr op_kind kind = op_kind::enter;
  static constexpr std::int8_t arity = 1;
  struct attributes {
    std::string frame;                      ///< its name; frames of one name and one surrounding iteration are the same
    bool constant = false;                  ///< x is there in all iterations
    std::int64_t parallel_iterations = 10;  ///< how many run at once, at the most
    static constexpr auto fields(auto const& take) {
      return take(field{"frame", &attributes::frame}, field{"constant", &attributes::constant},
                  field{"parallel_iterations", &attributes::parallel_iterations});
    }
  };
  static type infer(attributes const& a, type const& x);
};

struct exit_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "exit", doc = "x outside of its frame (the white paper's Leave)";
  static constexpr op_kind kind = op_kind::exit;
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
};

struct next_iteration_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "next_iteration", doc = "hands x to a merge in the next iteration";
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

/// How many iterations a frame made, outside of it.
struct iterations_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "iterations",
                                    doc = "in how many iterations of its frame x was not dead, outside of the frame";
  static constexpr op_kind kind = op_kind::iterations;
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const&) { return dtype::int64; }
};

/// What a loop over rows is lowered to besides: the count comes from outside of the frame.
struct goes_on_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "goes_on", doc = "whether there are more than this iteration's number";
  static constexpr std::int8_t arity = 1;
  struct attributes {
    std::int64_t most = -1;  ///< rows that there are; -1: not known
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
  static constexpr std::string_view name = "row", doc = "the row of x that this iteration takes";
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
                                    doc = "the values of x of all iterations, stacked, outside of the frame";
  static constexpr op_kind kind = op_kind::collect;
  static constexpr std::int8_t arity = -1;
  struct attributes {
    std::int64_t rows = -1;  ///< how many there will be; -1: not known
    bool backwards = false;  ///< the last row first; then a second input is the count
    bool saved = false;      ///< they are there for a derivative
    static constexpr auto fields(auto const& take) {
      return take(field{"rows", &attributes::rows}, field{"backwards", &attributes::backwards},
                  field{"saved", &attributes::saved});
    }
  };
  static std::array<type, 1> infer(attributes const& a, std::span<type const> x);
};

/// Draws the random numbers of an iteration by its row, so that a loop the other way draws the same.
struct drawn_by_row_op : flow_primitive {
  using library = void;
  static constexpr std::string_view name = "drawn_by_row", doc = "settles what random numbers this iteration draws";
  static constexpr std::string_view draws_random = "key";
  static constexpr std::int8_t arity = -2;
  static constexpr std::size_t outputs = 0;
  struct attributes {
    std::int64_t key = 0;    ///< tells the numbers of this loop from those of others
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

/// Control flow by hand, from primitives. A graph that holds them runs as it was written, without rewrites; they have
/// no gradient. `exit` of a loop that ends, and what a switch did not choose, is dead: a node with a dead input does
/// not run and is dead itself, up to a merge; to fetch it is error(failed_precondition). All extents in such a step
/// must be known when it begins: nothing is settled late beside primitives, error(unimplemented).
namespace tagged {

/// x where `predicate` says: `auto [no, yes] = switch_(x, predicate)`.
template <operand X, operand P> auto switch_(X x, P predicate) { return record<ops::switch_op>(x, predicate); }

/// The first of its inputs that is not dead, and an int32 that says which: `auto [y, which] = merge(a, b)`. In a loop,
/// of the value that enters alone: `next_iteration` brings the others.
template <operand... X>
  requires(sizeof...(X) > 0)
auto merge(X... x) {
  return record<ops::merge_op>(x...);
}

/// How a value enters a frame.
struct into {
  std::string frame;                      ///< its name
  bool constant = false;                  ///< the value is there in all iterations
  std::int64_t parallel_iterations = 10;  ///< how many run at once, at the most; the first to enter says it
};
/// x in a frame: a loop's first value, or what all of its iterations see.
template <operand X> X enter(X x, into const& f) {
  auto const v = record_erased<ops::enter_op>(detail::graph_of(x), {f.frame, f.constant, f.parallel_iterations}, {x});
  if constexpr (typed<X>) return X{v};
  else return v;
}
/// x outside of its frame, once it is not dead.
template <operand X> auto exit(X x) { return record<ops::exit_op>(x); }
/// Hands x to `merged`, a merge of this frame, in the next iteration.
inline operation next_iteration(value x, value merged) {
  auto& g = detail::graph_of(x);
  if (!merged || merged.origin().op->kind != op_kind::merge || merged.port != 0)
    throw error(code::invalid_argument, "next_iteration: the second value must be that of a merge");
  return record_erased<ops::next_iteration_op>(g, {}, {x, merged});
}
/// Marks the predicate by which a loop's switches go on. It hands the predicate on and does nothing else: a frame may
/// have several, whose switches then go by their own.
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
