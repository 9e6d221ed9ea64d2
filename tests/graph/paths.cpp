#include "rill/graph/paths.hpp"

#include <gtest/gtest.h>

#include "rill/graph/prune.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

// For each output of a node the names of the inputs to which it has a path.
std::vector<std::vector<std::string>> paths_of(operation const& o) {
  path_finder finder;
  auto const& n = o.origin();
  std::vector<std::vector<std::string>> all;
  for (auto const& to : finder.of(*o.graph, n)) {
    all.emplace_back();
    for (std::size_t k = 0; k < to.size(); ++k)
      if (to[k]) all.back().push_back((*o.graph)[n.inputs[k].node].name);
  }
  return all;
}
using lists = std::vector<std::vector<std::string>>;

TEST(paths, of_a_branch_are_those_of_its_bodies) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const x = placeholder<float>(g, "x"), y = placeholder<float>(g, "y"), z = placeholder<float>(g, "z");
  auto const [a, b, c] = cond(
      placeholder<bool>(g, "p"), [&] { return std::tuple{x * v, y + 0.f, stop_gradient(z)}; },
      [&] { return std::tuple{y * 2.f, y + 0.f, cast<float>(cast<std::int32_t>(z))}; });
  EXPECT_EQ(paths_of(operation(value(a))), (lists{{"v", "x", "y"}, {"y"}, {}}));
}

TEST(paths, of_a_loop_go_through_the_iterations_before) {
  graph g;
  auto const x = placeholder<float>(g, "x"), y = placeholder<float>(g, "y"), z = placeholder<float>(g, "z"),
             c = placeholder<float>(g, "c");
  // z goes to y, and y to x; c goes to z.
  auto const [k, a, b, d] =
      while_loop([](auto i, auto...) { return i < 3; },
                 [&](auto i, auto, auto u, auto w) { return std::tuple{i + 1, u * 2.f, w + 1.f, c * 1.f}; },
                 constant(g, 0), x, y, z);
  auto const of = paths_of(operation(value(a)));
  EXPECT_EQ(of[1], (std::vector<std::string>{"x", "y", "z", "c"}));
  EXPECT_EQ(of[2], (std::vector<std::string>{"y", "z", "c"}));
  EXPECT_EQ(of[3], (std::vector<std::string>{"z", "c"}));
}

TEST(paths, of_calls_are_those_of_the_function_and_all_where_it_calls_itself) {
  graph g;
  auto const x = placeholder<float>(g, "x"), y = placeholder<float>(g, "y");
  auto const first = function<"first", of<float>, of<float>>(g, [](auto a, auto b) { return a + stop_gradient(b); });
  auto const outer = function<"outer", of<float>, of<float>>(g, [&](auto a, auto b) { return first(b, a) * 2.f; });
  EXPECT_EQ(paths_of(operation(value(outer(x, y)))), (lists{{"y"}}));
  auto const again = function<"again", of<float>(of<float>, of<float>)>(
      g, [](auto self, auto a, auto b) { return cond(a < 0.f, [&] { return a; }, [&] { return self(a - 1.f, b); }); });
  EXPECT_EQ(paths_of(operation(value(again(x, y)))), (lists{{"x", "y"}}));
}

// Each function calls the one before twice: to look through every call would take for ever.
TEST(paths, are_found_once_for_each_body) {
  graph g;
  function(g, "f0", {of<float>}, [](auto const& x) { return std::vector<value>{neg(x[0])}; });
  for (int i = 1; i < 60; ++i)
    function(g, "f" + std::to_string(i), {of<float>}, [&, before = "f" + std::to_string(i - 1)](auto const& x) {
      return std::vector<value>{add(call(*x[0].graph, before, x[0])[0], call(*x[0].graph, before, x[0])[0])};
    });
  auto const y = call(g, "f59", placeholder<float>(g, "x"));
  EXPECT_EQ(paths_of(y.made), (lists{{"x"}}));
}

}  // namespace
}  // namespace rill
