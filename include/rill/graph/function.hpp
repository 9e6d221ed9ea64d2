// Functions of a graph: named bodies, to which calls refer.
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

/// How deep calls of a function may nest; beyond it a step ends with error(resource_exhausted).
struct depth_limit {
  std::int64_t calls = 1000;
};

/// A function as its graph keeps it. It never changes once it is defined, and lives as long as the graph.
struct function_definition {
  std::string name;
  std::vector<type> arguments, results;  ///< as declared
  bool has_results = true;               ///< false: no results were declared, and the body is not recorded yet
  std::vector<std::int32_t> like;  ///< for each result the argument or capture whose type it has, -1: none; or empty
  depth_limit most = {};

  std::shared_ptr<subgraph const> body;      ///< of arguments and captures; null while it is recorded
  std::vector<endpoint> captures;            ///< values of the graph that follow the arguments in each call
  std::vector<std::uint32_t> references;     ///< variables of the graph; the first `updates` are updated
  std::int64_t updates = 0;                  ///< the number of variables that it updates
  std::vector<std::uint32_t> waits;          ///< nodes of the graph that each call comes after
  rill::effect effect = rill::effect::none;  ///< the strongest of its nodes'

  mutable bool called_open = false;  ///< whether a call of it was recorded while the body was

  // Of the body, and of the functions that it calls.
  bool recursive = false;
  bool may_wait = false;      ///< whether one of its kernels may wait
  std::uint32_t nodes = 0;    ///< counts the nodes of called functions for each call; at most `too_many_nodes`
  std::uint32_t nesting = 0;  ///< how deep bodies and calls nest

  static constexpr std::uint32_t too_many_nodes = 10000, deepest_nesting = 128;

  /// Whether passes and type inference may look into the body at a call, or put it in the place of the call.
  bool looked_through() const { return body && !recursive && nodes < too_many_nodes; }

  /// Returns the number of inputs of a call: variables, arguments, captures.
  std::size_t inputs() const { return references.size() + arguments.size() + captures.size(); }
  /// Returns the types of a call's results for these types of its arguments and captures. Throws
  /// error(invalid_argument) if they do not fit the signature.
  std::vector<type> infer(std::span<type const> given) const;
};

/// The functions of a graph. A function stays for good; a name refers to the last function that was given that name.
class function_library {
 public:
  function_definition& add(function_definition f) {
    std::unique_lock lock(mutex_);
    return all_.emplace_back(std::move(f));
  }
  /// Returns the function that a name refers to; null: none.
  function_definition const* find(std::string_view name) const;
  /// Makes a name refer to `f`, or to no function if `f` is null; returns what it referred to before.
  function_definition const* rename(std::string const& name, function_definition const* f);
  /// Adds a function whose body is recorded to `defined()`.
  void define(function_definition const& f) {
    std::unique_lock lock(mutex_);
    defined_.push_back(&f);
  }
  /// Returns the functions whose bodies are recorded, each after the functions that it calls.
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
