#include "rill/ops/array/placeholder.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/run/session.hpp"

namespace rill {
namespace {

TEST(placeholder, with_a_taken_name_is_refused_because_steps_are_fed_by_it) {
  graph g;
  placeholder<float>(g, "x");
  constant(g, 1.f, "c");
  auto const size = g.size();
  auto const said = sentence([&] { placeholder<float>(g, "x"); });
  EXPECT_EQ(said,
            "invalid_argument: node 'x': a placeholder's name must be unique, because steps are fed by it, and a node "
            "'placeholder' has this one: choose another name, record it in a scope, or use the handle of the first");
  EXPECT_NE(sentence([&] { placeholder(g, of<double>, "c"); }).find("a node 'constant' has"), std::string::npos);
  EXPECT_EQ(g.size(), size);
  g.scope("part", [&] { EXPECT_EQ(placeholder<float>(g, "x").name(), "part/x"); });
  g.scope("part", [&] { EXPECT_EQ(placeholder<float>(g, "x").name(), "part_1/x"); });
  EXPECT_NE(sentence([&] { placeholder<float>(g, "part"); }).find("a scope or a body has"), std::string::npos);
}

TEST(placeholder, without_a_name_gets_one) {
  graph g;
  EXPECT_EQ(placeholder<float>(g).name(), "placeholder");
  EXPECT_EQ(placeholder<float>(g).name(), "placeholder_1");
}

TEST(placeholder_with_default, with_a_taken_name_is_refused_because_its_feed_would_go_to_another) {
  graph g;
  auto const one = constant(g, 1.f);
  auto const x = placeholder_with_default(one, "x");
  EXPECT_NE(sentence([&] { placeholder_with_default(one, "x"); }).find("node 'x'"), std::string::npos);
  EXPECT_NE(sentence([&] { placeholder_with_default(value(one), "x"); }).find("node 'x'"), std::string::npos);
  session s(g, {.threads = 1});
  EXPECT_EQ(s.run({{"x", tensor(2.f)}}, x).item<float>(), 2);
}

// Derivatives and functions record copies of nodes, which may have the names of the first.
TEST(placeholder_with_default, may_stand_in_a_body_that_is_recorded_again) {
  graph g;
  auto const x = constant(g, 1.f);
  auto const y =
      while_loop([](auto v) { return v < 4.f; }, [](auto v) { return placeholder_with_default(v + v, "twice"); }, x);
  auto const z =
      while_loop([](auto v) { return v < 4.f; }, [](auto v) { return placeholder_with_default(v + v, "twice"); }, x);
  session s(g, {.threads = 1});
  EXPECT_EQ(s.run(y + z).item<float>(), 8);
}

}  // namespace
}  // namespace rill
