#include "rill/pass/bind.hpp"

#include <gtest/gtest.h>

#include "rill/graph/prune.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/state/variable.hpp"

namespace rill {
namespace {

struct thrown {
  rill::code code = rill::code::internal;
  std::string message, node;
};
thrown refusal(auto&& f) {
  try {
    f();
  } catch (error const& e) {
    return {e.code(), e.message(), e.node()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(axis_binding, gives_a_name_one_extent_for_the_step) {
  axis_binding axes;
  axes.bind(of<float, "n", 2>, of<float, 5, 2>, "a");
  EXPECT_NO_THROW(axes.bind(of<float, "n">, of<float, 5>, "b"));
  auto const e = refusal([&] { axes.bind(of<float, "n">, of<float, 6>, "c"); });
  EXPECT_EQ(e.code, code::invalid_argument);
  EXPECT_EQ(e.node, "c");
  EXPECT_EQ(e.message, "axis 'n' is 5 elsewhere in this step and 6 here");
  EXPECT_EQ(axes.resolved(of<float, "n", "m", unknown>), (of<float, 5, "m", unknown>));
  EXPECT_EQ(axes.resolved(type::of_unknown_rank(dtype::float32)), type::of_unknown_rank(dtype::float32));
}

TEST(bind, settles_every_extent_from_the_feeds) {
  graph g;
  value const x = placeholder(g, of<float, "n", 2>, "x"), w = constant(g, matrix<float>({{1, 2, 3}, {4, 5, 6}}));
  value const y = neg(value(matmul(x, w)));
  auto part = prune(g, {x.endpoint()}, {y.endpoint()}, {});
  container state;
  bind_extents(part, {of<float, 7, 2>}, state);
  EXPECT_EQ(part.type_of(part.outputs[0]), (of<float, 7, 3>));
}

TEST(bind, refuses_a_feed_of_another_type) {
  graph g;
  value const x = placeholder(g, of<float, "n", 2>, "x"), y = neg(x);
  container state;
  for (type const& t : {type(of<float, 7, 3>), type(of<double, 7, 2>), type(of<float, 7>)}) {
    auto part = prune(g, {x.endpoint()}, {y.endpoint()}, {});
    auto const e = refusal([&] { bind_extents(part, {t}, state); });
    EXPECT_EQ(e.code, code::invalid_argument);
    EXPECT_EQ(e.node, "x");
  }
}

TEST(bind, names_a_placeholder_that_is_not_fed) {
  graph g;
  value const y = neg(placeholder(g, of<float>, "x"));
  auto part = prune(g, {}, {y.endpoint()}, {});
  container state;
  auto const e = refusal([&] { bind_extents(part, {}, state); });
  EXPECT_EQ(e.code, code::invalid_argument);
  EXPECT_EQ(e.node, "x");
}

TEST(bind, says_where_extents_that_only_the_feeds_tell_do_not_fit) {
  graph g;
  value const a = placeholder(g, of<float, unknown>, "a"), b = placeholder(g, of<float, unknown>, "b"), c = add(a, b);
  auto part = prune(g, {a.endpoint(), b.endpoint()}, {c.endpoint()}, {});
  container state;
  auto const e = refusal([&] { bind_extents(part, {of<float, 2>, of<float, 3>}, state); });
  EXPECT_EQ(e.node, "add");
  EXPECT_NE(e.message.find("float32[2], float32[3]"), std::string::npos) << e.message;
}

TEST(bind, gives_a_variable_of_open_extents_those_of_its_value) {
  graph g;
  auto const v = variable(g, of<float, unknown>, "v");
  value const y = neg(value(v));
  container state;
  state.variable("v", of<float, unknown>)->assign(vector<float>({1, 2, 3}));
  auto part = prune(g, {}, {y.endpoint()}, {});
  bind_extents(part, {}, state);
  EXPECT_EQ(part.type_of(part.outputs[0]), (of<float, 3>));
}

}  // namespace
}  // namespace rill
