// A number that tells graphs apart: two programs that are to train one model compare it.
#pragma once
#include <cstdint>

#include "rill/graph/subgraph.hpp"

namespace rill {

/// Returns a number that depends on the operations of a subgraph, their attributes, types and edges, on the names of
/// its variables, and on nothing else: neither on where nodes run nor on what else the program has recorded.
std::int64_t fingerprint(subgraph const& of);

}  // namespace rill

#if RILL_RUNTIME
#include <bit>
#include <concepts>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "rill/graph/function.hpp"

namespace rill {

namespace detail {

/// FNV-1a of 64 bits over what a graph consists of.
class graph_hash {
 public:
  std::int64_t result() const { return static_cast<std::int64_t>(hash_); }

  void add(subgraph const& s) {
    add(s.size());
    for (auto const& n : s.nodes) add(n);
    for (auto i : s.inputs) add(i);
    for (auto e : s.outputs) add(e);
    for (auto t : s.targets) add(t);
  }

 private:
  void add(std::string_view text) {
    for (char c : text) step(static_cast<unsigned char>(c));
    step(text.size());
  }
  void add(std::string const& text) { add(std::string_view(text)); }
  template <std::integral T> void add(T n) { step(static_cast<std::uint64_t>(n)); }
  void add(double x) { step(std::bit_cast<std::uint64_t>(x)); }
  void add(endpoint e) { step(std::uint64_t{e.node} << 32 | e.port); }
  void add(dtype d) { step(static_cast<std::uint64_t>(d)); }
  void add(type const& t) { add(std::string_view(t.text())); }
  void add(extents const& e) {
    for (auto n : e) add(n);
    step(e.size());
  }
  void add(tensor const& t) {
    add(t.type());
    if (t.element() == dtype::string)
      for (auto const& s : t.span<std::string>()) add(std::string_view(s));
    else add(std::string_view(static_cast<char const*>(t.raw()), t.bytes()));
  }
  template <class T> void add(std::vector<T> const& all) {
    for (auto const& each : all) add(each);
    step(all.size());
  }
  void add(std::shared_ptr<program const> const& p) {
    add(std::string_view(text(*p)));
    for (auto const& i : p->immediates)
      add(std::string_view(reinterpret_cast<char const*>(i.bytes.data()), i.bytes.size()));
  }
  void add(std::shared_ptr<subgraph const> const& body) {
    if (body) add(*body);
  }
  void add(function_definition const* f) {
    add(std::string_view(f->name));
    if (!called_.insert(f).second) return;
    add(f->body);
  }
  void add(node const& n) {
    add(n.op->name);
    if (is_variable(n)) add(std::string_view(n.name));
    add(n.inputs);
    for (auto c : n.controls) add(c);
    add(n.outputs);
    for (auto const& [name, value] : n.attributes)
      if (name != n.op->draws_random)  // it counts what was recorded before
        std::visit([&](auto const& v) { add(v); }, value);
  }
  void step(std::uint64_t v) { hash_ = (hash_ ^ v) * 1099511628211u; }

  std::uint64_t hash_ = 14695981039346656037u;
  std::set<function_definition const*> called_;
};

}  // namespace detail

RILL_INLINE std::int64_t fingerprint(subgraph const& of) {
  detail::graph_hash all;
  all.add(of);
  return all.result();
}

}  // namespace rill
#endif
