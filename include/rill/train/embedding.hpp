// Tables of vectors for words and other numbered things.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/table/gather.hpp"
#include "rill/train/initializers.hpp"

namespace rill {

/// The options of an embedding_layer.
struct embedding_options {
  std::int64_t padding = -1;  ///< an index that gives zeros, and whose row is not trained; -1: none
};

/// A table of vectors, one for each index: `embedding_layer<64> words(g, 10'000, "words"); words(indices);` returns
/// [batch, time, 64] for indices [batch, time]. All calls share the table, the variable words/table [10000, 64]. Its
/// gradient has a row for each index that was looked up, rather than one for each row of the table.
template <dim Features = unknown, element T = float> class embedding_layer {
 public:
  /// Creates a table of `rows` rows.
  template <initializer_of_variables Initializer = initializers::uniform>
    requires(Features.known())
  embedding_layer(graph& g, std::int64_t rows, std::string_view name, Initializer const& first = {},
                  embedding_options o = {})
      : embedding_layer(g, type(dtype_of<T>, {dim(rows), Features}), name, o, first) {}
  /// Creates a table where the numbers are known only when the program runs. The type is the table's:
  /// `embedding_layer(g, of<float, 10'000, 64>, "words")`. Throws error(invalid_argument) unless it has two extents
  /// that are above 0.
  template <initializer_of_variables Initializer = initializers::uniform>
    requires(!Features.known())
  embedding_layer(graph& g, type const& table, std::string_view name, Initializer const& first = {},
                  embedding_options o = {})
      : embedding_layer(g, table, name, o, first) {}

  /// Returns [..., features] for indices [...], int32 or int64. The step fails with error(invalid_argument) if an index
  /// is out of range.
  template <typed X>
    requires(Features.known())
  auto operator()(X indices) const {
    variable_expr<of<T, unknown, Features>> const table{{value(table_)}};
    return detail::graph_of(indices).scope(name_, [&] {
      auto const rows = gather(table, indices);
      return std::remove_const_t<decltype(rows)>{without_padding(rows, indices)};
    });
  }
  value operator()(value indices) const {
    return detail::graph_of(indices).scope(name_, [&] { return without_padding(gather(table_, indices), indices); });
  }

  /// Returns the variable of the table [rows, features].
  variable_value table() const { return table_; }
  /// Returns the variables that training changes: `adam{}.minimize(loss, words.variables())`.
  std::vector<variable_value> variables() const try { return {table_}; } catch (...) {
    rethrow_as_error();
  }

 private:
  template <class Initializer>
  embedding_layer(graph& g, type const& table, std::string_view name, embedding_options o, Initializer const& first) try
      : name_(name), options_(o), table_(variable(g, checked(table, o), name_ + "/table", first)) {
  } catch (...) {
    rethrow_as_error();
  }

  static type const& checked(type const& table, embedding_options o) {
    if (!table.is_known() || table.rank != 2 || table[0].extent <= 0 || table[1].extent <= 0)
      throw error(code::invalid_argument,
                  "embedding: expected a table [rows, features] with extents above 0, got " + table.text());
    if (o.padding < -1 || o.padding >= table[0].extent)
      throw error(code::invalid_argument, "embedding: expected an index of one of " + table[0].text() +
                                              " rows as padding, or -1, got " + std::to_string(o.padding));
    return table;
  }
  value without_padding(value rows, value indices) const {
    if (options_.padding < 0) return rows;
    return select(expand_dims(equal(indices, like(indices, options_.padding)), -1), zero(rows), rows);
  }

  std::string name_;
  embedding_options options_;
  variable_value table_;
};

/// Creates an embedding_layer and calls it once: `embedding<10'000, 64>(indices, "words")` creates the variable
/// words/table [10000, 64], and returns [..., 64] for indices [...].
template <std::int64_t Rows, dim Features, element T = float, typed X,
          initializer_of_variables Initializer = initializers::uniform>
auto embedding(X indices, std::string_view name, Initializer const& first = {}, embedding_options o = {}) {
  static_assert(Rows > 0 && Features.known(), "embedding: the numbers of rows and features must be numbers above 0");
  return embedding_layer<Features, T>(detail::graph_of(indices), Rows, name, first, o)(indices);
}
/// Does the same where the types are known only when the program runs: `embedding(indices, of<float, 10'000, 64>,
/// "words")`.
template <initializer_of_variables Initializer = initializers::uniform>
value embedding(value indices, type const& table, std::string_view name, Initializer const& first = {},
                embedding_options o = {}) {
  return embedding_layer<>(detail::graph_of(indices), table, name, first, o)(indices);
}

}  // namespace rill
