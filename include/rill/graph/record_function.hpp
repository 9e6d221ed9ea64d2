// Records functions: bodies of the outermost graph, which may call the function itself.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/graph/body.hpp"

namespace rill {

/// The name and signature of a function that is to be recorded.
struct function_request {
  std::string name;
  std::vector<type> arguments = {};
  std::optional<std::vector<type>> results = {};  ///< empty: the types that the body returns; it can't call itself
  std::vector<std::int32_t> like = {};
  std::vector<endpoint> captures = {};  ///< captures that it has even if the body does not read them
  depth_limit most = {};
};

/// Records a function's body: takes the function, which it may call, and the arguments, and returns the results.
using function_recorder =
    std::function<std::vector<value>(function_definition const& self, std::vector<value> const& arguments)>;

/// Defines a function of the graph under its name. A recursive function with captures is recorded twice, because its
/// calls of itself pass the captures on. If the graph already has a function of this name, returns that function if it
/// is the same, and throws error(invalid_argument) otherwise.
function_definition const& record_function(graph& g, function_request r, function_recorder const& f);

namespace detail {

/// Whether two subgraphs are equal except for the names of their nodes.
bool same_subgraph(subgraph const& a, subgraph const& b);

/// Throws error(invalid_argument) if a body's results don't fit the declared results of its function.
void check_results(function_definition const& f, subgraph const& body);

/// Sets `recursive`, `may_wait`, `nodes` and `nesting` of a function whose body is recorded. Throws
/// error(resource_exhausted) if it nests too deep.
void survey(function_definition& f);

#if RILL_RUNTIME

/// Makes a name refer to a function while the function is recorded; if that fails, to what it referred to before.
class open_function {
 public:
  open_function(function_library& library, function_definition& f)
      : library_(library), f_(f), before_(library.rename(f.name, &f)) {}
  ~open_function() {
    if (!kept_) library_.rename(f_.name, before_);
  }
  open_function(open_function const&) = delete;
  open_function& operator=(open_function const&) = delete;

  function_definition const& keep() {
    if (before_ == nullptr) {
      library_.define(f_);
      kept_ = true;
      return f_;
    }
    if (!same_as_before())
      throw error(code::invalid_argument,
                  "the graph has another function '" + f_.name + "': give this one a name of its own");
    return *before_;
  }

 private:
  bool same_as_before() const {
    auto const& b = *before_;
    return b.body && b.arguments == f_.arguments && b.results == f_.results && b.captures == f_.captures &&
           b.references == f_.references && b.most.calls == f_.most.calls && same_subgraph(*b.body, *f_.body);
  }
  function_library& library_;
  function_definition& f_;
  function_definition const* before_;
  bool kept_ = false;
};

/// Makes the captures and variables of a body those of its function. Returns whether the function's have changed.
inline bool adopt_captures(graph& root, function_definition& f, recorded_body& body) {
  auto const before = std::tuple{f.captures, f.references, f.updates, f.effect};
  for (auto const& c : body.captures)
    if (std::find(f.captures.begin(), f.captures.end(), c.endpoint()) == f.captures.end())
      f.captures.push_back(c.endpoint());
  std::vector<value> all;
  for (auto e : f.captures) all.push_back({&root, e.node, e.port});
  body.align(f.arguments.size(), all);
  f.references.clear();
  for (bool updated : {true, false}) {
    for (std::size_t i = 0; i < body.references.size(); ++i)
      if (body.updated[i] == updated) f.references.push_back(body.references[i].node);
    std::sort(f.references.begin() + (updated ? 0 : f.updates), f.references.end());
    if (updated) f.updates = static_cast<std::int64_t>(f.references.size());
  }
  f.effect = body.effect;
  return before != std::tuple{f.captures, f.references, f.updates, f.effect};
}

template <class F> void for_each_call(subgraph const& sub, F const& f) {
  for (auto const& n : sub.nodes) {
    if (auto const* called = called_by(n)) f(*called);
    for_each_body(n, [&](subgraph const& body) { for_each_call(body, f); });
  }
}
inline bool calls(subgraph const& sub, function_definition const& f) {
  bool found = false;
  for_each_call(sub, [&](function_definition const& called) { found = found || &called == &f; });
  return found;
}

// Returns the number of nodes, and how deep bodies and calls nest.
inline std::pair<std::uint64_t, std::uint32_t> size_and_nesting(subgraph const& sub) {
  std::uint64_t nodes = sub.size();
  std::uint32_t nesting = 0;
  for (auto const& n : sub.nodes) {
    if (auto const* called = called_by(n)) nodes += called->nodes, nesting = std::max(nesting, called->nesting);
    for_each_body(n, [&](subgraph const& body) {
      auto const inner = size_and_nesting(body);
      nodes += inner.first;
      nesting = std::max(nesting, inner.second);
    });
  }
  return {std::min<std::uint64_t>(nodes, function_definition::too_many_nodes), nesting + 1};
}

RILL_INLINE void survey(function_definition& f) {
  f.recursive = calls(*f.body, f);
  f.may_wait = std::any_of(f.body->nodes.begin(), f.body->nodes.end(), [](node const& n) { return may_wait(n); });
  for_each_call(*f.body, [&](function_definition const& called) {
    if (&called != &f && !called.body)
      throw error(code::failed_precondition, "the function '" + f.name + "' calls '" + called.name + "' while '" +
                                                 called.name + "' is recorded: only '" + called.name +
                                                 "' may call it now");
  });
  auto const [nodes, nesting] = size_and_nesting(*f.body);
  f.nodes = static_cast<std::uint32_t>(nodes);
  f.nesting = nesting;
  if (f.nesting > function_definition::deepest_nesting)
    throw error(code::resource_exhausted, "the function '" + f.name + "' nests bodies and calls more than " +
                                              std::to_string(function_definition::deepest_nesting) + " deep");
}

RILL_INLINE void check_results(function_definition const& f, subgraph const& body) {
  auto const fail = [&](std::string const& why) {
    throw error(code::invalid_argument, "the function '" + f.name + "' " + why);
  };
  if (f.has_results && body.outputs.size() != f.results.size())
    fail("is declared to return " + std::to_string(f.results.size()) + " values and returns " +
         std::to_string(body.outputs.size()));
  for (std::size_t o = 0; o < body.outputs.size(); ++o) {
    auto const& made = body.type_of(body.outputs[o]);
    if (f.has_results && !accepts(f.results[o], made))
      fail("is declared to return " + with_article(f.results[o]) + " and returns " + with_article(made));
  }
}

// Two functions with one name are the same function: a name refers to another one only while that one is recorded.
inline bool same_attribute(attribute const& a, attribute const& b) {
  if (a.index() != b.index()) return false;
  if (auto const* f = std::get_if<function_definition const*>(&a))
    return (*f)->name == std::get<function_definition const*>(b)->name;
  if (auto const* body = std::get_if<std::shared_ptr<subgraph const>>(&a))
    return same_subgraph(**body, *std::get<std::shared_ptr<subgraph const>>(b));
  return same(a, b);
}

// For each node the one beside which it must run: its number, if it is a node of the subgraph, else its name.
inline std::vector<std::pair<std::int64_t, std::string>> neighbours(subgraph const& sub) {
  std::map<std::string_view, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < sub.size(); ++i) numbers.emplace(sub[i].name, i);
  std::vector<std::pair<std::int64_t, std::string>> all;
  for (auto const& n : sub.nodes)
    if (auto const at = numbers.find(n.colocated); at != numbers.end()) all.emplace_back(at->second, "");
    else all.emplace_back(-1, n.colocated);
  return all;
}

RILL_INLINE bool same_subgraph(subgraph const& a, subgraph const& b) {
  if (a.size() != b.size() || a.inputs != b.inputs || a.outputs != b.outputs || a.targets != b.targets) return false;
  if (neighbours(a) != neighbours(b)) return false;
  for (std::uint32_t i = 0; i < a.size(); ++i) {
    node const &x = a[i], &y = b[i];
    if (x.op != y.op || x.inputs != y.inputs || x.controls != y.controls || x.outputs != y.outputs ||
        x.attributes.size() != y.attributes.size() || x.rule != y.rule || x.device != y.device)
      return false;
    if (is_variable(x) && x.name != y.name) return false;
    for (std::size_t k = 0; k < x.attributes.size(); ++k)
      if (!(draws_random(x) && x.attributes[k].first == x.op->draws_random) &&  // the keys of two calls always differ
          !same_attribute(x.attributes[k].second, y.attributes[k].second))
        return false;
  }
  return true;
}

#endif

}  // namespace detail

#if RILL_RUNTIME
RILL_INLINE function_definition const& record_function(graph& g, function_request r, function_recorder const& f) {
  auto& root = g.outermost();
  function_definition wish;
  wish.name = std::move(r.name);
  wish.arguments = std::move(r.arguments);
  wish.has_results = r.results.has_value();
  if (r.results) wish.results = std::move(*r.results);
  wish.like = std::move(r.like);
  wish.captures = std::move(r.captures);
  wish.most = r.most;
  if (wish.name.empty() || wish.name.find(':') != std::string::npos)
    throw error(code::invalid_argument, "a function's name must not be empty, and must not have a ':'", wish.name);
  auto& made = root.functions().add(std::move(wish));
  detail::open_function open(root.functions(), made);
  auto const record = [&] {
    return root.outside_bodies([&] {
      return record_body(root, made.name + "/body", made.arguments, [&](std::vector<value> const& arguments) {
        root.innermost().count_keys();
        return f(made, arguments);
      });
    });
  };
  auto body = record();
  for (int again = 0; detail::adopt_captures(root, made, body) && made.called_open; ++again) {
    if (again == 2)
      throw error(code::invalid_argument,
                  "the function '" + made.name + "' captures other values each time that it is recorded");
    body = record();
  }
  for (auto const& o : body.waits)
    if (std::find(made.waits.begin(), made.waits.end(), o.node) == made.waits.end()) made.waits.push_back(o.node);
  detail::check_results(made, body.subgraph);
  if (!made.has_results)
    for (auto e : body.subgraph.outputs) made.results.push_back(body.subgraph.type_of(e));
  made.has_results = true;
  made.body = std::make_shared<subgraph const>(std::move(body.subgraph));
  detail::survey(made);
  return open.keep();
}
#endif

}  // namespace rill
