// Writes graphs in the language of Graphviz: https://graphviz.org/doc/info/lang.html
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/base/utf8.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

namespace detail {

/// Escapes text for the quotes of a DOT label. Control characters, and in text that is not UTF-8 all bytes above 127,
/// become '?', because Graphviz refuses them.
inline std::string escaped(std::string_view text) {
  bool const readable = decode_utf8(text).has_value();
  std::string s;
  for (char c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (s += '\\') += c;
    else if (c == '\n') s += "\\n";
    else s += byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !readable) ? '?' : c;
  }
  return s;
}

/// Returns the scopes of a name, outermost first, without the last part.
inline std::vector<std::string_view> scopes_of(std::string_view name) {
  std::vector<std::string_view> scopes;
  for (std::size_t from = 0, slash; (slash = name.find('/', from)) != std::string_view::npos; from = slash + 1)
    scopes.push_back(name.substr(from, slash - from));
  return scopes;
}

/// Writes nodes into the clusters of their scopes, then the edges.
class dot_writer {
 public:
  explicit dot_writer(std::vector<node const*> nodes, std::string prefix = "")
      : nodes_(std::move(nodes)), emphasis_(nodes_.size()), prefix_(std::move(prefix)) {}

  /// Draws a node with a double line, as nodes that are fetched are.
  void emphasize(std::uint32_t i) { emphasis_[i] = true; }

  std::string text(std::string const& more = "") {
    text_ = "digraph {\n  rankdir=TB\n  node [shape=box, fontname=\"sans-serif\"]\n  edge [fontname=\"sans-serif\"]\n";
    return text_ + content() + more + "}\n";
  }
  /// Returns the nodes and edges without the head of the file.
  std::string content() {
    auto const before = std::exchange(text_, "");
    write_nodes();
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) write_edges(i);
    return std::exchange(text_, before);
  }

 private:
  void write_nodes() {
    std::vector<std::pair<std::vector<std::string_view>, std::uint32_t>> order;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) order.emplace_back(scopes_of(nodes_[i]->name), i);
    std::sort(order.begin(), order.end());
    std::vector<std::string_view> open;
    for (auto const& [scopes, i] : order) {
      auto const same = static_cast<std::size_t>(
          std::mismatch(open.begin(), open.end(), scopes.begin(), scopes.end()).first - open.begin());
      while (open.size() > same) close(open);
      while (open.size() < scopes.size()) enter(open, scopes[open.size()]);
      write_node(i);
    }
    while (!open.empty()) close(open);
  }
  void enter(std::vector<std::string_view>& open, std::string_view scope) {
    text_ += "  subgraph cluster_" + prefix_ + std::to_string(clusters_++) + " {\n  label=\"" + escaped(scope) + "\"\n";
    open.push_back(scope);
  }
  void close(std::vector<std::string_view>& open) {
    text_ += "  }\n";
    open.pop_back();
  }

  std::string id(std::uint32_t i) const { return prefix_ + "n" + std::to_string(i); }
  void write_node(std::uint32_t i) {
    auto const& n = *nodes_[i];
    auto const own = n.name.substr(n.name.rfind('/') + 1);
    text_ += "  " + id(i) + " [label=\"" + escaped(own) + "\\n" + escaped(n.op->name);
    if (auto const* f = called_by(n)) text_ += " of " + escaped(f->name);
    if (!n.device.empty()) text_ += "\\n" + escaped(n.device);
    text_ += emphasis_[i] ? "\", peripheries=2]\n" : "\"]\n";
  }

  void write_edges(std::uint32_t i) {
    auto const& n = *nodes_[i];
    auto const edge = [&](std::uint32_t from) { return "  " + id(from) + " -> " + id(i); };
    for (auto e : n.inputs) {
      auto const& from = nodes_[e.node]->outputs[e.port];
      auto const port = nodes_[e.node]->outputs.size() > 1 ? ":" + std::to_string(e.port) + " " : "";
      text_ += edge(e.node) + " [label=\"" + port + escaped(from.text()) + "\"]\n";
    }
    for (auto c : n.controls) text_ += edge(c) + " [style=dashed]\n";
  }

  std::vector<node const*> nodes_;
  std::vector<bool> emphasis_;
  std::size_t clusters_ = 0;
  std::string prefix_, text_;
};

}  // namespace detail

namespace detail {

/// Returns a function as a cluster. The identifiers of its nodes begin with its number, so that they are unique.
inline std::string dot_of_function(function_definition const& f, std::size_t number) {
  auto const prefix = "f" + std::to_string(number);
  std::vector<node const*> nodes;
  for (auto const& n : f.body->nodes) nodes.push_back(&n);
  dot_writer writer(std::move(nodes), prefix);
  for (auto e : f.body->outputs) writer.emphasize(e.node);
  return "  subgraph cluster_" + prefix + " {\n  label=\"function " + escaped(f.name) + "\"\n  style=dashed\n" +
         writer.content() + "  }\n";
}

}  // namespace detail

/// Returns the graph in Graphviz's language (`dot -Tsvg` draws it): nodes with their operations in the clusters of
/// their scopes, types on the edges, control edges dashed; then its functions, each in a cluster.
inline std::string dot(graph const& g) try {
  std::vector<node const*> nodes;
  for (std::size_t i = 0, size = g.size(); i < size; ++i) nodes.push_back(&g[i]);
  std::string functions;
  std::size_t number = 0;
  for (auto const* f : g.functions().defined()) functions += detail::dot_of_function(*f, number++);
  return detail::dot_writer(std::move(nodes)).text(functions);
} catch (...) {
  rethrow_as_error();
}

/// Returns a subgraph in Graphviz's language; nodes that are fetched have a double line.
inline std::string dot(subgraph const& g) try {
  std::vector<node const*> nodes;
  for (auto const& n : g.nodes) nodes.push_back(&n);
  detail::dot_writer writer(std::move(nodes));
  for (auto e : g.outputs) writer.emphasize(e.node);
  return writer.text();
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
