#include "rill/ops/control/flow.hpp"

#include <gtest/gtest.h>

#include "rill/grad/gradients.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/run/session.hpp"

namespace {

using namespace rill;

TEST(flow, a_group_runs_all_of_its_members) {
  graph g;
  auto const a = variable(constant(g, 1.f), "a"), b = variable(constant(g, 2.f), "b");
  session s{g};
  s.run(initializer(g));
  s.run(group(g, {assign_add(a, constant(g, 10.f)), assign_add(b, constant(g, 20.f))}));
  auto const [x, y] = s.run(a, b);
  EXPECT_EQ(float(x), 11.f);
  EXPECT_EQ(float(y), 22.f);
}

TEST(flow, control_edges_order_updates_and_reads) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const add = assign_add(v, constant(g, 1.f));
  auto const twice = g.after({add}, [&] { return assign(v, read(v) * 2.f); });
  auto const seen = g.after({twice}, [&] { return read(v); });
  session s{g};
  s.run(initializer(g));
  auto const [before, after] = s.run(v, seen);
  EXPECT_EQ(float(before), 1.f);
  EXPECT_EQ(float(after), 4.f);
}

TEST(flow, updates_without_an_order_are_refused) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const both = group(g, {assign_add(v, constant(g, 1.f)), assign_sub(v, constant(g, 3.f))});
  session s{g};
  s.run(initializer(g));
  try {
    s.run(both);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::failed_precondition);
    EXPECT_NE(e.message().find("put a control edge between them"), std::string::npos);
  }
  EXPECT_EQ(float(s.run(v)), 1.f);
}

TEST(flow, identity_passes_values_and_gradients_on_and_stop_gradient_only_values) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [d] = gradients(identity(x) * x + stop_gradient(x) * x, x);
  session s{g};
  EXPECT_EQ(float(s.run({{x, tensor(3.f)}}, d)), 9.f);  // 2x + x
}

}  // namespace
