// A function of a graph: a body under a name, which calls refer to.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/graph/node.hpp"
#include "rill/type/signature.hpp"

namespace rill {

struct subgraph;

/// How deep calls of functions lie within each other before a step ends with error(resource_exhausted).
struct depth_limit {
  std::int64_t calls = 1000;
};

/// A function as its graph keeps it. It never changes once it is defined, and stays as long as the graph.
struct function_definition {
  std::string name;
  std::vector<type> arguments, results;  ///< as declared
  bool has_results = true;               ///< false: nothing was declared, and the body is not recorded yet
  std::vector<std::int32_t> like;  ///< for each result the argument or capture whose type it has, -1: none; or empty
  depth_limit most = {};

  std::shared_ptr<subgraph const> body;      ///< of arguments and captures; null while it is recorded
  std::vector<endpoint> captures;            ///< values of the graph that each call is given, after the arguments
  std::vector<std::uint32_t> references;     ///< variables of the graph, those that it updates first
  std::int64_t updates = 0;                  ///< how many of them it updates
  std::vector<std::uint32_t> waits;          ///< nodes of the graph that each call comes after
  rill::effect effect = rill::effect::none;  ///< the strongest of its nodes'

  mutable bool called_open = false;  ///< whether a call of it was recorded while the body was

  // Of the body, and of what it calls.
  bool recursive = false;
  bool may_wait = false;      ///< a kernel
  std::uint32_t nodes = 0;    ///< if all that it calls stood in it; at most `too_many_nodes`
  std::uint32_t nesting = 0;  ///< how deep bodies and calls lie within each other

  static constexpr std::uint32_t too_many_nodes = 10000, deepest_nesting = 128;

  /// Whether the body can be looked through, or stand, where a call is.
  bool looked_through() const { return body && !recursive && nodes < too_many_nodes; }

  /// Inputs of a call: variables, arguments, captures.
  std::size_t inputs() const { return references.size() + arguments.size() + captures.size(); }
  /// The types of a call's results, for these types of its arguments and captures. Throws error(invalid_argument) if
  /// they are not those of the signature.
  std::vector<type> infer(std::span<type const> given) const;
};

/// The functions of a graph. What was added stays; a name means the one that was named last.
class function_library {
 public:
  function_definition& add(function_definition f) {
    std::unique_lock lock(mutex_);
    return all_.emplace_back(std::move(f));
  }
  /// The function that a name means; null: none.
  function_definition const* find(std::string_view name) const;
  /// Makes a name mean `f`, or nothing; returns what it meant before.
  function_definition const* rename(std::string const& name, function_definition const* f);
  /// The function's body is recorded: from now on it is one of `defined()`.
  void define(function_definition const& f) {
    std::unique_lock lock(mutex_);
    defined_.push_back(&f);
  }
  /// Each comes after those that it calls.
  std::vector<function_definition const*> defined() const {
    std::shared_lock lock(mutex_);
    return defined_;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::deque<function_definition> all_;
  std::map<std::string, function_definition const*, std::less<>> named_;
  std::vector<function_definition const*> defined_;
};

#if RILL_RUNTIME

RILL_INLINE function_definition const* function_library::find(std::string_view name) const {
  std::shared_lock lock(mutex_);
  auto const at = named_.find(name);
  return at == named_.end() ? nullptr : at->second;
}

RILL_INLINE function_definition const* function_library::rename(std::string const& name, function_definition const* f) {
  std::unique_lock lock(mutex_);
  auto& place = named_[name];
  auto* const before = std::exchange(place, f);
  if (f == nullptr) named_.erase(name);
  return before;
}

#endif

}  // namespace rill
