#include "rill/graph/growing_order.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rill {
namespace {

/// What a growing order is to be, told by looking at all edges each time.
struct plain_order {
  std::vector<std::vector<bool>> edge;
  explicit plain_order(std::size_t n) : edge(n, std::vector<bool>(n)) {}
  bool reaches(std::uint32_t from, std::uint32_t to) const {
    std::vector<bool> seen(edge.size());
    std::vector<std::uint32_t> todo{from};
    while (!todo.empty()) {
      auto const i = todo.back();
      todo.pop_back();
      for (std::uint32_t n = 0; n < edge.size(); ++n)
        if (edge[i][n] && !seen[n]) seen[n] = true, todo.push_back(n);
    }
    return seen[to];
  }
};

TEST(growing_order, takes_every_edge_but_those_that_close_a_circle) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    auto const n = 2 + random() % 30;
    growing_order grown(n);
    plain_order plain(n);
    auto const any = [&] { return static_cast<std::uint32_t>(random() % n); };
    for (auto i = n; i-- > 0;) {
      auto const a = any(), b = any();
      auto const before = round % 2 == 0 ? std::min(a, b) : std::max(a, b),
                 after = round % 2 == 0 ? std::max(a, b) : std::min(a, b);
      if (a != b) grown.put(before, after), plain.edge[before][after] = true;
    }
    ASSERT_TRUE(grown.number_nodes());
    for (int more = 0; more < 40; ++more) {
      auto const after = any();
      std::vector<std::uint32_t> before(random() % 4);
      bool all = true;
      std::vector<std::uint32_t> fit;
      for (auto& b : before) {
        b = any();
        if (b == after || plain.reaches(after, b)) all = false;
        else fit.push_back(b);
      }
      EXPECT_EQ(grown.add(before, after), all);
      for (auto b : fit) plain.edge[b][after] = true;
      for (std::uint32_t i = 0; i < n; ++i)
        for (std::uint32_t k = 0; k < n; ++k)
          if (plain.edge[i][k]) {
            ASSERT_LT(grown.position(i), grown.position(k));
          }
      auto const a = any(), b = any();
      EXPECT_EQ(grown.reaches(a, b), plain.reaches(a, b));
    }
  }
}

TEST(growing_order, has_no_order_where_edges_close_a_circle_from_the_start) {
  growing_order edges(3);
  edges.put(0, 2), edges.put(2, 1), edges.put(1, 0);
  EXPECT_FALSE(edges.number_nodes());
}

}  // namespace
}  // namespace rill
