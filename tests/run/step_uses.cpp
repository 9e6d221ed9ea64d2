#include "rill/run/step_uses.hpp"

#include <gtest/gtest.h>

#include "rill/graph/prune.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

subgraph pruned(graph const& g, operation const& target) { return prune(g, {}, {}, {target.node}); }
subgraph pruned(graph const& g, value const& fetch) { return prune(g, {}, {fetch.endpoint()}, {}); }

TEST(step_uses, finds_what_draws_in_branches_loops_and_functions) {
  graph g;
  auto const x = constant(g, 1.f);
  auto const noise = [&] { return uniform<float>(g); };
  auto const drawing = function<"drawing", of<float>(of<float>)>(g, [&](auto v) { return v + uniform_like(v); });
  auto const plain = function<"plain", of<float>(of<float>)>(g, [&](auto v) { return v + 1.f; });
  auto const endless = function<"endless", of<float>(of<float>)>(
      g, [&](auto self, auto v) { return cond(v > 3.f, [&] { return v; }, [&] { return self(v + 1.f); }); });
  EXPECT_TRUE(has_draws(pruned(g, noise())));
  EXPECT_TRUE(has_draws(pruned(g, cond(x > 0.f, [&] { return x; }, [&] { return uniform_like(x); }))));
  EXPECT_TRUE(has_draws(pruned(g, drawing(x))));
  EXPECT_FALSE(has_draws(pruned(g, x + 1.f)));
  EXPECT_FALSE(has_draws(pruned(g, cond(x > 0.f, [&] { return x; }, [&] { return x + 1.f; }))));
  EXPECT_FALSE(has_draws(pruned(g, plain(x))));
  EXPECT_FALSE(has_draws(pruned(g, endless(x))));
}

TEST(step_uses, tells_training_by_what_a_step_updates) {
  graph g;
  auto const w = variable(constant(g, 1.f), "w");
  auto const seen = variable(constant(g, std::int64_t{0}), "seen");
  auto const total = variable(constant(g, 0.f), "total", {.trainable = false});
  auto const beside = g.near(w, [&] { return variable(constant(g, 0.f), "beside", {.trainable = false}); });
  auto const loss = square(w);
  EXPECT_TRUE(trains(g, pruned(g, gradient_descent{0.1}.minimize(loss))));
  EXPECT_TRUE(trains(g, pruned(g, adam{0.1}.minimize(loss))));
  EXPECT_TRUE(trains(g, pruned(g, operation(assign_add(w, constant(g, 1.f))))));
  EXPECT_TRUE(trains(g, pruned(g, operation(assign_add(beside, constant(g, 1.f))))));
  EXPECT_TRUE(trains(g, pruned(g, gradient_sums(variable_gradients(loss)).add())));
  auto const branch =
      cond(loss > 0.f, [&] { return value(assign_add(w, constant(g, 1.f))); }, [&] { return value(loss); });
  EXPECT_TRUE(trains(g, pruned(g, branch)));
  EXPECT_FALSE(trains(g, pruned(g, loss)));
  EXPECT_FALSE(trains(g, pruned(g, operation(assign_add(seen, constant(g, std::int64_t{1}))))));
  EXPECT_FALSE(trains(g, pruned(g, operation(assign_add(total, loss)))));
}

TEST(step_uses, counts_gradients_in_an_accumulator_as_training_in_branches_loops_and_functions) {
  graph g;
  accumulator<of<float>> const sums(g, "sums");
  auto const x = constant(g, 1.f);
  auto const step = constant(g, std::int64_t{0});
  auto const given = [&](auto v) {
    sums.apply(v, step);
    return v;
  };
  auto const giving = function<"giving", of<float>(of<float>)>(g, given);
  EXPECT_TRUE(trains(g, pruned(g, sums.apply(x, step))));
  EXPECT_TRUE(trains(g, pruned(g, cond(x > 0.f, [&] { return given(x); }, [&] { return x; }))));
  EXPECT_TRUE(trains(g, pruned(g, for_loop(0, 3, 1, [&](auto, auto v) { return given(v); }, x))));
  EXPECT_TRUE(trains(g, pruned(g, giving(x))));
  EXPECT_TRUE(trains(g, pruned(g, cond(x > 0.f, [&] { return giving(x); }, [&] { return x; }))));
  EXPECT_FALSE(trains(g, pruned(g, cond(x > 0.f, [&] { return x + 1.f; }, [&] { return x; }))));
  EXPECT_FALSE(trains(g, pruned(g, sums.count())));
}

}  // namespace
}  // namespace rill
