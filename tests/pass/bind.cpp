#include "rill/pass/bind.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/graph/prune.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/state/variable.hpp"

namespace rill {
namespace {

TEST(bind, settles_every_extent_from_the_feeds) {
  graph g;
  value const x = placeholder(g, of<float, "n", 2>, "x"), w = constant(g, matrix<float>({{1, 2, 3}, {4, 5, 6}}));
  value const y = neg(value(matmul(x, w)));
  auto sub = prune(g, {x.endpoint()}, {y.endpoint()}, {});
  container state;
  bind_extents(sub, {of<float, 7, 2>}, state);
  EXPECT_EQ(sub.type_of(sub.outputs[0]), (of<float, 7, 3>));
}

TEST(bind, refuses_a_feed_of_another_type) {
  graph g;
  value const x = placeholder(g, of<float, "n", 2>, "x"), y = neg(x);
  container state;
  for (type const& t : {type(of<float, 7, 3>), type(of<double, 7, 2>), type(of<float, 7>)}) {
    auto sub = prune(g, {x.endpoint()}, {y.endpoint()}, {});
    auto const e = error_of([&] { bind_extents(sub, {t}, state); });
    EXPECT_EQ(e.code(), code::invalid_argument);
    EXPECT_EQ(e.node(), "x");
  }
}

TEST(bind, names_a_placeholder_that_is_not_fed) {
  graph g;
  value const y = neg(placeholder(g, of<float>, "x"));
  auto sub = prune(g, {}, {y.endpoint()}, {});
  container state;
  auto const e = error_of([&] { bind_extents(sub, {}, state); });
  EXPECT_EQ(e.code(), code::invalid_argument);
  EXPECT_EQ(e.node(), "x");
}

TEST(bind, says_where_extents_that_only_the_feeds_tell_do_not_fit) {
  graph g;
  value const a = placeholder(g, of<float, unknown>, "a"), b = placeholder(g, of<float, unknown>, "b"), c = add(a, b);
  auto sub = prune(g, {a.endpoint(), b.endpoint()}, {c.endpoint()}, {});
  container state;
  auto const e = error_of([&] { bind_extents(sub, {of<float, 2>, of<float, 3>}, state); });
  EXPECT_EQ(e.node(), "add");
  EXPECT_NE(e.message().find("float32[2], float32[3]"), std::string::npos) << e.message();
}

TEST(bind, gives_a_variable_of_open_extents_those_of_its_value) {
  graph g;
  auto const v = variable(g, of<float, unknown>, "v");
  value const y = neg(value(v));
  container state;
  state.variable("v", of<float, unknown>)->assign(vector<float>({1, 2, 3}));
  auto sub = prune(g, {}, {y.endpoint()}, {});
  bind_extents(sub, {}, state);
  EXPECT_EQ(sub.type_of(sub.outputs[0]), (of<float, 3>));
}

TEST(bind, says_where_a_variable_that_is_read_has_another_extent_for_a_name) {
  graph g;
  auto const v = variable(g, of<float, "n">, "v");
  value const x = placeholder(g, of<float, "n">, "x"), y = add(value(v), x);
  container state;
  state.variable("v", of<float, "n">)->assign(vector<float>({1, 2, 3}));
  for (auto fetched : {y, value(v)}) {
    auto sub = prune(g, {x.endpoint()}, {fetched.endpoint(), x.endpoint()}, {});
    EXPECT_NO_THROW(bind_extents(sub, {of<float, 3>}, state));
    sub = prune(g, {x.endpoint()}, {fetched.endpoint(), x.endpoint()}, {});
    auto const e = error_of([&] { bind_extents(sub, {of<float, 4>}, state); });
    EXPECT_EQ(e.code(), code::invalid_argument);
    EXPECT_EQ(e.node(), "v");
    EXPECT_EQ(e.message(), "axis 'n' is 4 elsewhere in this step and 3 here");
  }
}

TEST(bind, lets_an_update_give_a_variable_other_extents) {
  graph g;
  auto const v = variable(g, of<float, "n">, "v");
  value const x = placeholder(g, of<float, "n">, "x"), set = assign(v, x);
  value const now = g.after({operation(set)}, [&] { return read(v); });
  container state;
  state.variable("v", of<float, "n">)->assign(vector<float>({1, 2, 3}));
  auto sub = prune(g, {x.endpoint()}, {now.endpoint()}, {});
  bind_extents(sub, {of<float, 4>}, state);
  EXPECT_EQ(sub.type_of(sub.outputs[0]), (of<float, "n">));  // known when it is read
}

TEST(bind, gives_a_read_of_a_variable_that_keeps_its_extents_those_of_its_value) {
  graph g;
  auto const v = variable(g, of<float, unknown>, "v");
  value const more = assign_add(v, placeholder(g, of<float, unknown>, "x"));
  value const now = g.after({operation(more)}, [&] { return read(v); });
  container state;
  auto sub = prune(g, {more.origin().inputs[1]}, {now.endpoint()}, {});
  EXPECT_EQ(error_of([&] { bind_extents(sub, {of<float, 3>}, state); }).node(), "v");
  state.variable("v", of<float, unknown>)->assign(vector<float>({1, 2, 3}));
  sub = prune(g, {more.origin().inputs[1]}, {now.endpoint()}, {});
  bind_extents(sub, {of<float, 3>}, state);
  EXPECT_EQ(sub.type_of(sub.outputs[0]), (of<float, 3>));
}

TEST(bind, gives_a_name_of_a_reshape_the_extent_that_it_comes_to_have) {
  graph g;
  value const x = placeholder(g, of<float, unknown>, "x"), y = reshape<"rows", 2>(x);
  value const z = add(y, placeholder(g, of<float, "rows", 2>, "z"));
  container state;
  auto sub = prune(g, {x.endpoint(), z.origin().inputs[1]}, {z.endpoint()}, {});
  bind_extents(sub, {of<float, 6>, of<float, 3, 2>}, state);
  EXPECT_EQ(sub.type_of(sub.outputs[0]), (of<float, 3, 2>));
  sub = prune(g, {x.endpoint(), z.origin().inputs[1]}, {z.endpoint()}, {});
  EXPECT_EQ(error_of([&] { bind_extents(sub, {of<float, 6>, of<float, 4, 2>}, state); }).message(),
            "axis 'rows' is 4 elsewhere in this step and 3 here");
}

}  // namespace
}  // namespace rill
