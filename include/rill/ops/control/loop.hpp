// The loop behind while_loop, map, scan and fold: a body that runs repeatedly, with loop variables and with rows that
// it reads and produces (EuroSys'18 §4).
#pragma once
#include "rill/ops/control/body.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/replay.hpp"

namespace rill::detail {
std::vector<gradient> loop_gradient(gradient_request const& r);
}

namespace rill::ops {

/// What the operations of a loop share. Inputs: variables (by reference), the number of iterations if it is given, the
/// extents of uneven rows, the first values of the loop variables, tensors of which each iteration reads one row, and
/// captures. Outputs: the last values of the loop variables, the number of iterations, and the produced rows, stacked.
/// Rows saved for a derivative may be uneven, each with its own extents: they are then stored end to end in a list, and
/// the loop that reads them also gets their extents. If a step knows in advance that they have equal extents, they are
/// stacked, too.
struct loop_rules {
  static constexpr std::int8_t arity = -1;
  static constexpr op_kind kind = op_kind::loop;
  static constexpr std::string_view counts_references = "references";
  static constexpr std::string_view counts_updates = "updates";
  static constexpr std::string_view draws_random = "key";
  static constexpr bool dynamic_output_shape = true;
  struct attributes {
    std::shared_ptr<subgraph const> body;  ///< from variables, rows and captures to variables and rows
    std::shared_ptr<subgraph const>
        condition;  ///< from variables and captures to a bool; without outputs: no condition
    std::int64_t variables = 0, rows = 0, references = 0, updates = 0;
    bool given_count = false;    ///< an input has the number of iterations; else the condition or the rows determine it
    bool backwards = false;      ///< the last row first
    std::int64_t key = 0;        ///< the key of this loop's random numbers
    std::int64_t parallel = 10;  ///< the maximum number of iterations at once in tagged execution
    std::int64_t saved = 0;      ///< how many of the last produced rows are saved for a derivative
    std::int64_t uneven = 0;     ///< how many of the last read rows may be uneven
    static constexpr auto fields(auto const& take) {
      return take(field{"body", &attributes::body}, field{"condition", &attributes::condition},
                  field{"variables", &attributes::variables}, field{"rows", &attributes::rows},
                  field{"references", &attributes::references}, field{"updates", &attributes::updates},
                  field{"given_count", &attributes::given_count}, field{"backwards", &attributes::backwards},
                  field{"key", &attributes::key}, field{"parallel", &attributes::parallel},
                  field{"saved", &attributes::saved}, field{"uneven", &attributes::uneven});
    }
    bool counted() const { return condition->outputs.empty(); }
    // Positions of the first input of each kind; the given count comes before the extents.
    std::size_t first_extents() const { return static_cast<std::size_t>(references) + given_count; }
    std::size_t first_variable() const { return first_extents() + static_cast<std::size_t>(uneven); }
    std::size_t first_uneven() const { return first_capture() - static_cast<std::size_t>(uneven); }
    std::size_t first_row() const { return first_variable() + static_cast<std::size_t>(variables); }
    std::size_t first_capture() const { return first_row() + static_cast<std::size_t>(rows); }
    // Positions of the first output of each kind.
    std::uint32_t count_port() const { return static_cast<std::uint32_t>(variables); }
    std::uint32_t row_port(std::size_t i) const { return count_port() + 1 + static_cast<std::uint32_t>(i); }
    std::size_t made_rows() const { return body->outputs.size() - static_cast<std::size_t>(variables); }
    bool is_saved(std::size_t row) const { return row + static_cast<std::size_t>(saved) >= made_rows(); }
    void check(std::size_t inputs) const;
  };
  /// Returns the types of the body's arguments and the number of rows, from the loop's inputs; loop variables whose
  /// extents change get unknown extents.
  static std::pair<std::vector<type>, dim> arguments(attributes const& a, std::span<type const> inputs);
  /// Returns the types of the body's arguments in every iteration of a loop whose outputs have these types.
  static std::vector<type> given(attributes const& a, std::span<type const> inputs, std::span<type const> outputs);
  /// Whether a value of this type has the same extents in all iterations: a name means one extent.
  static bool is_alike(type const& t);
  /// Returns the type of `count` stacked rows of this type.
  static type made(type const& row, bool saved, dim const& count);
  /// Whether outputs of these types have unknown extents other than the number of rows.
  static bool opens(attributes const& a, std::span<type const> outputs);
  /// Whether the loop has no rows to read, because the loop that produces them had no iteration, and the body can't run
  /// with arguments of these types: the extents of rows that were never produced are unknown.
  static bool never_runs(attributes const& a, std::span<type const> inputs);
  /// Returns the types of the condition's arguments.
  static std::vector<type> without_rows(attributes const& a, std::vector<type> arguments);
  static std::vector<type> infer(attributes const& a, std::span<type const> inputs);
  template <class> static std::vector<gradient> grad(gradient_request const& r) { return detail::loop_gradient(r); }
  static value without_updates(graph& here, node const& n, std::vector<value> const& inputs);
  static path_table paths(node const& n, std::span<std::string_view const> names, path_finder& finder);
  static kernel cpu(kernel_request const& r);
  static kernel open_cpu(kernel_request const& r, attributes const& a);
};

struct loop_op : loop_rules {
  using library = void;
  static constexpr std::string_view name = "loop", doc = "runs a body repeatedly (while_loop, map, scan, fold)";
};
struct reading_loop_op : loop_rules {
  using library = void;
  static constexpr std::string_view name = "reading_loop",
                                    doc = "a loop whose bodies read variables or draw random numbers";
  static constexpr rill::effect effect = rill::effect::reads;
};
struct updating_loop_op : loop_rules {
  using library = void;
  static constexpr std::string_view name = "updating_loop", doc = "a loop whose bodies update variables";
  static constexpr rill::effect effect = rill::effect::writes;
};

/// Whether a node is one of these operations.
inline bool is_loop(node const& n) { return n.op->kind == op_kind::loop; }

#if RILL_RUNTIME
RILL_INLINE void loop_rules::attributes::check(std::size_t inputs) const {
  expects(body && condition, "loop: a body is missing");
  expects(parallel > 0 && parallel <= 4096, "loop: between 1 and 4096 iterations may run at once");
  expects(references >= 0 && updates >= 0 && updates <= references && variables >= 0 && rows >= 0 &&
              std::max({references, variables, rows}) <= std::int64_t{UINT16_MAX} && uneven >= 0 && uneven <= rows &&
              first_capture() <= inputs,
          "loop: the number of inputs is wrong");
  auto const captures = inputs - first_capture();
  expects(body->inputs.size() == static_cast<std::size_t>(variables + rows) + captures,
          "loop: the body takes a different number of values");
  expects(body->outputs.size() >= static_cast<std::size_t>(variables),
          "loop: the body must return as many values as there are loop variables");
  expects(saved >= 0 && saved <= static_cast<std::int64_t>(made_rows()), "loop: it saves more rows than it produces");
  if (counted()) {
    expects(given_count || rows > uneven, "loop: it never ends: it has neither a condition nor a count nor rows");
    return;
  }
  expects(condition->outputs.size() == 1 && condition->inputs.size() == static_cast<std::size_t>(variables) + captures,
          "loop: the condition takes the loop variables and returns one value");
  expects(rows == 0 && !given_count, "loop: a loop with a condition must have neither rows nor a count");
}

RILL_INLINE std::pair<std::vector<type>, dim> loop_rules::arguments(attributes const& a, std::span<type const> inputs) {
  std::vector<type> given(inputs.begin() + static_cast<std::ptrdiff_t>(a.first_variable()), inputs.end());
  dim count = unknown;
  for (auto i = static_cast<std::size_t>(a.variables); i < static_cast<std::size_t>(a.variables + a.rows); ++i) {
    if (a.first_variable() + i >= a.first_uneven() && (!given[i].has_rank() || given[i].rank < 2)) {
      given[i] = (*a.body)[a.body->inputs[i]].outputs[0].with(given[i].element);
      expects(!given[i].is_known(), "loop: rows of one type are laid end to end, not stacked");
      continue;
    }
    expects(given[i].has_rank() && given[i].rank > 0, "loop: a value with rows must have rank 1 or more");
    count = agree(count, given[i][0], "loop: the tensors have different numbers of rows");
    given[i] = row_of(given[i]);
  }
  return {std::move(given), count};
}

RILL_INLINE std::vector<type> loop_rules::given(attributes const& a, std::span<type const> inputs,
                                                std::span<type const> outputs) {
  auto types = arguments(a, inputs).first;
  std::copy_n(outputs.begin(), a.variables, types.begin());
  return types;
}

RILL_INLINE bool loop_rules::is_alike(type const& t) {
  return t.has_rank() &&
         std::all_of(t.dims.begin(), t.dims.begin() + t.rank, [](dim const& d) { return d != unknown; });
}

RILL_INLINE type loop_rules::made(type const& row, bool saved, dim const& count) {
  return saved && !is_alike(row) ? type::of_unknown_rank(row.element) : stacked(row, count);
}

RILL_INLINE bool loop_rules::opens(attributes const& a, std::span<type const> outputs) {
  for (std::uint32_t o = 0; o < outputs.size(); ++o) {
    auto const& t = outputs[o];
    if (!t.is_known() && (o < a.row_port(0) || !t.has_rank() || !row_of(t).is_known())) return true;
  }
  return false;
}

RILL_INLINE bool loop_rules::never_runs(attributes const& a, std::span<type const> inputs) {
  auto const [given, count] = arguments(a, inputs);
  return a.given_count && count == dim(0) && branch::branch_types(*a.body, given).refusal;
}

RILL_INLINE std::vector<type> loop_rules::without_rows(attributes const& a, std::vector<type> arguments) {
  auto const first = arguments.begin() + static_cast<std::ptrdiff_t>(a.variables);
  arguments.erase(first, first + static_cast<std::ptrdiff_t>(a.rows));
  return arguments;
}

RILL_INLINE std::vector<type> loop_rules::infer(attributes const& a, std::span<type const> inputs) {
  a.check(inputs.size());
  if (a.given_count) {
    auto const& count = inputs[static_cast<std::size_t>(a.references)];
    expects(accepts(of<std::int64_t>, count), "loop: the number of iterations must be a scalar of int64");
  }
  for (auto i = a.first_extents(); i < a.first_variable(); ++i)
    expects(inputs[i].element == dtype::int64, "loop: the extents of uneven rows must be int64");
  auto const variables = static_cast<std::size_t>(a.variables);
  auto [given, count] = arguments(a, inputs);
  // An extent that the body changes becomes unknown; each round finds at least one more.
  std::vector<type> made;
  bool settled = never_runs(a, inputs);
  if (settled)
    for (auto e : a.body->outputs) made.push_back(a.body->type_of(e));
  while (!settled) {
    made = rill::infer(*a.body, given);
    settled = true;
    for (std::size_t i = 0; i < variables; ++i) {
      auto const both =
          detail::common_type(given[i], made[i], "loop: the body must return the loop variables' own types");
      auto const& declared = (*a.body)[a.body->inputs[i]].outputs[0];
      if (!accepts(declared, made[i]))
        throw error(code::invalid_argument, "loop: the body must return the loop variables' own types: variable " +
                                                std::to_string(i) + " was declared as " + with_article(declared) +
                                                " and it returns " + with_article(made[i]) +
                                                "; an extent that may change is declared to be open, by as");
      if (both != given[i]) given[i] = both, settled = false;
    }
  }
  if (!a.counted()) {
    auto const verdict = rill::infer(*a.condition, without_rows(a, given))[0];
    expects(accepts(of<bool>, verdict), "loop: the condition must be a scalar of bool");
  }
  std::vector<type> types(given.begin(), given.begin() + a.variables);
  types.push_back(dtype::int64);
  for (std::size_t i = variables; i < made.size(); ++i)
    types.push_back(loop_rules::made(made[i], a.is_saved(i - variables), count));
  return types;
}

// A result that depends on a loop variable depends on everything that the variable depended on in earlier iterations.
RILL_INLINE path_table loop_rules::paths(node const& n, std::span<std::string_view const> names, path_finder& finder) {
  auto const a = decode<attributes>(n.attributes);
  auto const first = a.first_variable(), variables = static_cast<std::size_t>(a.variables);
  auto of = detail::no_paths(a.body->outputs.size(), n.inputs.size());
  auto const references = names.first(static_cast<std::size_t>(a.references));
  if (!detail::add_paths(of, finder.through(a.body), references, first)) return {};
  for (std::size_t v = 0; v < variables; ++v)
    for (auto& result : of)
      for (std::size_t k = 0; k < result.size() && result[first + v]; ++k) result[k] = result[k] || of[v][k];
  for (std::size_t v = 0; v < variables; ++v) of[v][first + v] = true;      // the loop may have no iterations
  of.insert(of.begin() + a.variables, std::vector<bool>(n.inputs.size()));  // the number of iterations
  return of;
}
#endif

}  // namespace rill::ops

namespace rill {

namespace detail {

/// The arguments of record_loop.
struct loop_request {
  std::vector<value> variables = {}, rows = {};
  recorded_body condition = {}, body = {};
  bool counted = false;  ///< there is no condition
  value count = {};      ///< of iterations, if it is given
  bool backwards = false;
  std::int64_t key = -1;  ///< of random numbers; -1: a new one
  std::int64_t parallel = 10;
  std::int64_t saved = 0;           ///< how many of the last produced rows are saved for a derivative
  std::vector<value> extents = {};  ///< of the last rows that it takes, where those may be uneven
};
value record_loop(loop_request r);

#if RILL_RUNTIME
RILL_INLINE value record_loop(loop_request r) {
  auto& g = *(r.count ? r.count : (r.variables.empty() ? r.rows : r.variables)[0]).graph;
  std::vector<std::pair<recorded_body*, std::size_t>> bodies{{&r.body, r.variables.size() + r.rows.size()}};
  if (!r.counted) bodies.push_back({&r.condition, r.variables.size()});
  auto const all = merge_captures(bodies);
  auto inputs = all.references;
  if (r.count) inputs.push_back(r.count);
  for (auto const& list : {r.extents, r.variables, r.rows, all.captures})
    inputs.insert(inputs.end(), list.begin(), list.end());
  auto const& op = definition_for<ops::loop_op, ops::reading_loop_op, ops::updating_loop_op>(all.effect);
  ops::loop_rules::attributes a;
  a.variables = static_cast<std::int64_t>(r.variables.size());
  a.rows = static_cast<std::int64_t>(r.rows.size());
  a.references = static_cast<std::int64_t>(all.references.size());
  a.updates = static_cast<std::int64_t>(all.updates);
  a.given_count = static_cast<bool>(r.count);
  a.backwards = r.backwards;
  a.parallel = r.parallel;
  a.saved = r.saved;
  a.uneven = static_cast<std::int64_t>(r.extents.size());
  a.key = r.key >= 0 ? r.key : g.random_key();
  a.body = std::make_shared<subgraph const>(std::move(r.body.subgraph));
  a.condition = std::make_shared<subgraph const>(std::move(r.condition.subgraph));
  return g.after(all.waits, [&] { return g.add(op, encode(a), inputs, "loop"); });
}
#endif

}  // namespace detail

}  // namespace rill

#if RILL_RUNTIME
namespace rill::ops {

RILL_INLINE value loop_rules::without_updates(graph& here, node const& n, std::vector<value> const& inputs) {
  auto const a = decode<attributes>(n.attributes);
  auto const from = [&](std::size_t first, std::size_t last) { return detail::between(inputs, first, last); };
  auto const variables = from(0, static_cast<std::size_t>(a.references)),
             captures = from(a.first_capture(), inputs.size());
  detail::loop_request r{.variables = from(a.first_variable(), a.first_row()),
                         .rows = from(a.first_row(), a.first_capture()),
                         .counted = a.counted(),
                         .backwards = a.backwards,
                         .key = a.key,
                         .parallel = a.parallel,
                         .saved = a.saved,
                         .extents = from(a.first_extents(), a.first_variable())};
  auto const body = [&](subgraph const& sub, std::size_t arguments) {
    return detail::body_without_updates(here, n.name, sub, arguments, captures, variables);
  };
  if (a.given_count) r.count = inputs[static_cast<std::size_t>(a.references)];
  if (!r.counted) r.condition = body(*a.condition, r.variables.size());
  r.body = body(*a.body, r.variables.size() + r.rows.size());
  return detail::record_loop(std::move(r));
}

}  // namespace rill::ops
#endif

#include "rill/ops/control/loop_gradient.ipp"
#include "rill/ops/control/loop_kernel.ipp"
#include "rill/ops/control/open_loop.ipp"
