#include "rill/state/container.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(container, gives_the_same_variable_for_the_same_name) {
  container c;
  auto const v = c.variable("v", of<float, 2>);
  EXPECT_EQ(c.variable("v", of<float, 2>), v);
  EXPECT_NE(c.variable("w", of<float, 2>), v);
}

TEST(container, refuses_a_name_that_has_another_type) {
  container c;
  c.variable("v", of<float, 2>);
  try {
    c.variable("v", of<double, 2>);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::failed_precondition);
    EXPECT_EQ(e.node(), "v");
  }
  EXPECT_THROW(c.variable("v", of<float, 3>), error);
}

TEST(container, lists_variables_by_name) {
  container c;
  for (auto const* name : {"b", "a", "c/d"}) c.variable(name, of<float>);
  auto const all = c.variables();
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[0]->name(), "a");
  EXPECT_EQ(all[2]->name(), "c/d");
}

TEST(container, takes_every_value_away_on_request_but_not_the_snapshots) {
  container c;
  auto const v = c.variable("v", of<float>);
  v->assign(tensor(1.f));
  auto const snapshot = v->read();
  c.reset();
  EXPECT_FALSE(v->initialized());
  EXPECT_EQ(snapshot.item<float>(), 1);
  EXPECT_EQ(c.variables().size(), 1);
}

TEST(container, forgets_what_it_refused) {
  container c;
  EXPECT_THROW(c.barrier("b", 0), error);
  EXPECT_THROW(c.queue("q", {.capacity = 0}), error);
  EXPECT_THROW(c.other<int>("n", []() -> int* { throw error(code::internal, "none"); }), error);
  c.reset();
  EXPECT_EQ(c.barrier("b", 2)->parties(), 2);
  EXPECT_EQ(c.queue("q", {.capacity = 1, .components = {of<float>}})->options().capacity, 1);
  EXPECT_EQ(*c.other<int>("n", [] { return new int(3); }), 3);
}

}  // namespace
}  // namespace rill
