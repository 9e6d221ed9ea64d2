// Branches, loops and functions that update variables, in derivatives: recorded again without their updates, which are
// made once.
#pragma once
#include "rill/ops/control/call.hpp"
#include "rill/ops/control/loop.hpp"
#include "rill/ops/control/replay.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// One such node while it is recorded again.
class without_updates {
 public:
  without_updates(graph& here, node const& n, std::vector<value> const& in) : here_(here), n_(n), in_(in) {}

  value record() const {
    if (called_by(n_)) return call(decode<ops::calling::attributes>(n_.attributes));
    if (!ops::is_loop(n_)) return branch(decode<ops::branch::attributes>(n_.attributes));
    return loop(decode<ops::looping::attributes>(n_.attributes));
  }

 private:
  value branch(ops::branch::attributes const& a) const {
    auto const own = static_cast<std::size_t>(a.references);
    auto const variables = from(0, own), captures = from(own + 1, in_.size());
    return record_branch(in_[own], body(*a.then, 0, captures, variables), body(*a.otherwise, 0, captures, variables),
                         a);
  }

  value loop(ops::looping::attributes const& a) const {
    auto const variables = from(0, static_cast<std::size_t>(a.references)),
               captures = from(a.first_capture(), in_.size());
    loop_request r{.variables = from(a.first_variable(), a.first_row()),
                   .rows = from(a.first_row(), a.first_capture()),
                   .counted = a.counted(),
                   .backwards = a.backwards,
                   .key = a.key,
                   .parallel = a.parallel,
                   .saved = a.saved,
                   .extents = from(a.first_extents(), a.first_variable())};
    if (a.given_count) r.count = in_[static_cast<std::size_t>(a.references)];
    if (!r.counted) r.condition = body(*a.condition, r.variables.size(), captures, variables);
    r.body = body(*a.body, r.variables.size() + r.rows.size(), captures, variables);
    return record_loop(std::move(r));
  }

  value call(ops::calling::attributes const& a) const {
    auto const own = static_cast<std::size_t>(a.references);
    return record_call(here_, function(*a.function), from(own, own + a.function->arguments.size()), a.key);
  }
  // name/without_updates, recorded once; that of a function that calls itself does so, too.
  function_definition const& function(function_definition const& f) const {
    if (!f.body)
      throw error(code::unimplemented, "the function '" + f.name + "' is differentiated while it is recorded", n_.name);
    auto& root = here_.outermost();
    auto const name = f.name + "/without_updates";
    if (auto const* known = root.functions().find(name)) return *known;
    refuse_updated_reads(*f.body, n_.name);
    function_request again{.name = name,
                           .arguments = f.arguments,
                           .results = f.results,
                           .like = f.like,
                           .captures = f.captures,
                           .most = f.most};
    return record_function(root, std::move(again), [&](function_definition const&, std::vector<value> given) {
      auto& inner = root.innermost();
      std::vector<value> variables;
      for (auto v : f.references) variables.push_back(inner.inside({&root, v, 0}));
      for (auto e : f.captures) given.push_back(inner.inside({&root, e.node, e.port}));
      return results(inner, *f.body, given, variables);
    });
  }

  std::vector<value> from(std::size_t first, std::size_t last) const {
    return {in_.begin() + static_cast<std::ptrdiff_t>(first), in_.begin() + static_cast<std::ptrdiff_t>(last)};
  }

  // A body of so many arguments. It must not read what it updates, for it would read something else.
  recorded_body body(subgraph const& sub, std::size_t arguments, std::vector<value> const& captures,
                     std::vector<value> const& variables) const {
    refuse_updated_reads(sub, n_.name);
    std::vector<type> types;
    for (std::size_t i = 0; i < arguments; ++i) types.push_back(sub[sub.inputs[i]].outputs[0]);
    return record_body(here_, "again", types, [&](std::vector<value> given) {
      auto& inner = here_.innermost();
      std::vector<value> inside;
      for (auto const& v : captures) given.push_back(inner.inside(v));
      for (auto const& v : variables) inside.push_back(inner.inside(v));
      return results(inner, sub, given, inside);
    });
  }
  static std::vector<value> results(graph& here, subgraph const& sub, std::vector<value> const& given,
                                    std::vector<value> const& variables) {
    replay const again(here, sub, given, variables);
    std::vector<value> all;
    for (auto e : sub.outputs) all.push_back(again.of(e));
    return all;
  }

  graph& here_;
  node const& n_;
  std::vector<value> const& in_;
};

RILL_INLINE value record_without_updates(graph& here, node const& n, std::vector<value> const& in) {
  return without_updates(here, n, in).record();
}

}  // namespace rill::detail
#endif
