// One operation, recorded on constants and run.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "rill/ops/array/placeholder.hpp"
#include "rill/run/session.hpp"
#include "tensors.hpp"

namespace rill::test {

/// What `record` makes of the tensors, as placeholders that are fed: nothing is folded before.
inline tensor run(std::function<value(std::vector<value> const&)> const& record, std::vector<tensor> const& inputs,
                  int threads = 1) {
  graph g;
  std::vector<value> x;
  std::vector<feed> feeds;
  for (auto const& t : inputs) {
    x.push_back(placeholder(g, t.type()));
    feeds.emplace_back(x.back(), t);
  }
  session s{g, {.threads = threads}};
  return s.run(std::span<feed const>(feeds), record(x));
}

/// Numbers 1, 2, 3, …
inline tensor counting(dtype d, shape const& extents) {
  std::vector<double> v(static_cast<std::size_t>(elements(extents)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i + 1);
  return from_doubles(d, extents, v);
}

/// Numbers between -1 and 1 without much of a pattern.
inline tensor scattered(dtype d, shape const& extents, unsigned salt = 1) {
  std::vector<double> v(static_cast<std::size_t>(elements(extents)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>((i * 7919 + salt * 104729) % 2003) / 1001.5 - 1;
  return from_doubles(d, extents, v);
}

/// Expects error(c) whose message has `words` in it.
inline void expect_error(code c, std::string_view words, std::function<void()> const& f) {
  try {
    f();
    ADD_FAILURE() << "no error: " << words;
  } catch (error const& e) {
    EXPECT_EQ(e.code(), c) << e.what();
    EXPECT_NE(e.message().find(words), std::string::npos) << e.what();
  }
}

}  // namespace rill::test
