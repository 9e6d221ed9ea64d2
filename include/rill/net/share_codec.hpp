// Writes a task's share of a step as bytes and reads it. The bytes are untrusted: types are inferred again.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rill/graph/codec_functions.hpp"
#include "rill/net/messages.hpp"
#include "rill/run/tasks/send_receive.hpp"
#include "rill/run/tasks/task.hpp"

namespace rill::net {

/// A share as it comes from another process.
struct coded_share {
  std::unique_ptr<graph> functions;  ///< that its nodes call; outlives them
  subgraph nodes = {};
  std::vector<type> fed = {};
  share_setting how = {};
};

namespace detail {

/// Adds the functions that nodes call, each behind those that it calls.
inline void add_functions(subgraph const& of, std::unordered_set<function_definition const*>& seen,
                          std::vector<function_definition const*>& to) {
  for (auto const& n : of.nodes) {
    for_each_body(n, [&](subgraph const& body) { add_functions(body, seen, to); });
    auto const* const f = called_by(n);
    if (f == nullptr || !seen.insert(f).second) continue;
    add_functions(*f->body, seen, to);
    to.push_back(f);
  }
}

inline void save(wire::writer& to, pass_options const& p) {
  to(p.common_subexpressions, p.fold_constants, p.identities, p.fuse, p.loops, p.functions, p.verify);
}

}  // namespace detail

/// Returns a share as bytes. Throws error(invalid_argument) if a node holds a value that bytes can't represent.
inline std::string share_as_bytes(subgraph const& share, std::vector<type> const& fed, share_setting const& how) {
  wire::writer to(true);
  std::vector<function_definition const*> functions;
  std::unordered_set<function_definition const*> seen;
  detail::add_functions(share, seen, functions);
  wire::save_list(to, functions, [&](auto const* f) { wire::save(to, *f); });
  wire::save(to, share);
  wire::save_list(to, fed, [&](type const& t) { wire::save(to, t); });
  to(how.seed, how.soft);
  detail::save(to, how.passes);
  put(to, how.tasks);
  return to.take();
}

/// Returns the share that these bytes are. Throws error(not_found) with the name of an operation that is not among
/// `operations`, and error(data_loss) or error(invalid_argument) for bytes that are no share.
inline coded_share share_from_bytes(std::string_view bytes, operation_registry operations) {
  wire::reader from(bytes, true);
  wire::known_operations known(operations);
  known.add(send_op);
  known.add(receive_op);
  coded_share made{.functions = std::make_unique<graph>()};
  wire::load_list(from, wire::least_function, [&] { wire::load_function(from, *made.functions, known); });
  made.nodes = *wire::load_body(from, known);
  wire::load_list(from, 2, [&] { wire::load(from, made.fed.emplace_back()); });
  if (made.fed.size() != made.nodes.inputs.size()) wire::fail("a share has types for other inputs than it has");
  auto& how = made.how;
  auto& p = how.passes;
  from(how.seed, how.soft);
  from(p.common_subexpressions, p.fold_constants, p.identities, p.fuse, p.loops, p.functions, p.verify);
  get(from, how.tasks);
  if (from.remaining() != 0) wire::fail("more bytes follow after a share's end");
  return made;
}

}  // namespace rill::net
