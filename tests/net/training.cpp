// Training over servers: which bits come out, and which go over the wire.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/recipes.hpp"
#include "net/served.hpp"
#include "rill/net.hpp"
#include "train/workers.hpp"

namespace rill {
namespace {

using test::served_cluster;

template <class Optimizer> void check_synchronous(Optimizer by, double dropped) {
  test::training const how{.minimize = [=](value loss) { return synchronous(by, replicas(3)).minimize(loss); },
                           .dropped = dropped};
  served_cluster c({{"ps", 2}, {"worker", 3}});
  auto const there = test::train_together(3, how, [&](graph& g, std::uint32_t i) {
    return std::make_unique<session>(g, c.at("/job:worker/task:" + std::to_string(i)).target());
  });
  test::expect_same(test::train_here(3, how), there);
}

TEST(training, synchronous_over_servers_has_the_bits_of_one_process) {
  check_synchronous(gradient_descent{.rate = 0.1f}, 0);
  check_synchronous(momentum{.rate = 0.1f}, 0);
  check_synchronous(adam{.rate = 0.1f}, 0.5);
}

// Runs a step again until a task that was lost is back.
template <class F> void run_when_back(F const& f) {
  for (;;) try {
      f();
      return;
    } catch (error const& e) {
      if (e.code() != code::unavailable) throw;
    }
}

TEST(training, by_one_worker_needs_no_other_and_what_a_task_lost_is_initialised_beside_it) {
  served_cluster c({{"ps", 2}, {"worker", 2}});
  graph g;
  auto const on_ps = [&](int task, std::string const& name) {
    return g.on("/job:ps/task:" + std::to_string(task), [&] { return variable<float, 8>(g, name, glorot()); });
  };
  auto const kept = on_ps(0, "kept"), lost = on_ps(1, "lost");
  auto const train = adam{.rate = 0.01f}.minimize(sum(square(expr(kept) - 1.f)) + sum(square(expr(lost) - 1.f)));
  auto const first = initializer(g), missing = initializer(g, only_missing);
  auto chief = std::make_unique<session>(g, c.at("/job:worker/task:0").target());
  session other(g, c.at("/job:worker/task:1").target());
  chief->run(first);
  auto const start = other.get(lost);
  other.run(train);
  chief.reset();
  c.end(2);
  other.run(train);  // nothing that it needs lay on worker 0
  auto const before = other.get(kept);
  c.start(2);
  chief = std::make_unique<session>(g, c.at("/job:worker/task:0").target());
  run_when_back([&] { chief->run(missing); });
  EXPECT_TRUE(same_bits(other.get(kept), before)) << "it has its value";
  c.end(1);
  c.start(1);
  run_when_back([&] { chief->run(missing); });
  run_when_back([&] { EXPECT_TRUE(same_bits(other.get(lost), start)) << "the same draws again"; });
  EXPECT_TRUE(same_bits(other.get(kept), before));
  run_when_back([&] { other.run(train); });
  EXPECT_FALSE(same_bits(other.get(kept), before));
}

/// A large table on a ps task, of which a step uses a few rows.
struct embedding {
  static constexpr std::int64_t bytes = 20000 * 32 * sizeof(float);
  graph g{3};
  expr<of<std::int64_t, "n">> which = placeholder<std::int64_t, "n">(g, "which");
  variable_expr<of<float, 20000, 32>> table =
      test::on_ps(g, [&] { return variable<float, 20000, 32>(g, "table", glorot()); });
  expr<of<float>> loss = mean(square(gather(table, which) - 1.f));
};

// The bytes that all processes send in three steps of training, and the first row of the table at the end.
struct sent_in_steps {
  std::uint64_t bytes = 0;
  tensor row;
};
template <class Optimizer> sent_in_steps train_embedding(Optimizer const& by) {
  served_cluster c({{"ps", 1}, {"worker", 1}});
  embedding m;
  auto const train = by.minimize(m.loss);
  session s(m.g, c.at("/job:worker/task:0").target());
  s.run(initializer(m.g));
  auto const sent = [&] { return c[0].traffic().bytes_sent + c[1].traffic().bytes_sent; };
  auto const step = [&] { s.run({{m.which, vector<std::int64_t>({0, 7, 7, 19999})}}, train); };
  step();  // the first one sends shares as well
  auto const before = sent();
  for (int i = 0; i < 3; ++i) step();
  auto const after = sent();
  return {after - before, s.run({{m.which, vector<std::int64_t>({0})}}, gather(m.table, m.which))};
}

TEST(training, rows_of_a_table_go_over_the_wire_and_not_the_table) {
  auto const check = [](auto by) {
    auto const alone = train_embedding(by), together = train_embedding(synchronous(by, replicas(1)));
    EXPECT_LT(alone.bytes, static_cast<std::uint64_t>(embedding::bytes) / 100);
    EXPECT_LT(together.bytes, static_cast<std::uint64_t>(embedding::bytes) / 100);
    EXPECT_TRUE(same_bits(alone.row, together.row));
  };
  check(gradient_descent{.rate = 0.1f});
  check(momentum{.rate = 0.1f});
  check(adam{.rate = 0.1f});
}

// The bytes that all processes send in three steps that train a matrix, with or without truncation.
template <class Minimize> std::uint64_t sent_for_matrix(bool short_weights, Minimize const& minimize) {
  served_cluster c({{"ps", 1}, {"worker", 1}});
  graph g(3);
  auto w = test::on_ps(g, [&] { return variable<float, 400, 300>(g, "w", glorot()); });
  expr<of<float, 400, 300>> const read = short_weights ? truncated(expr(w)) : expr(w);
  auto const train = minimize(g.on("/job:worker", [&] { return mean(square(read * 2.f - 1.f)); }));
  session s(g, c.at("/job:worker/task:0").target());
  s.run(initializer(g));
  auto const sent = [&] { return c[0].traffic().bytes_sent + c[1].traffic().bytes_sent; };
  s.run(train);  // the first one sends shares as well
  auto const before = sent();
  for (int i = 0; i < 3; ++i) s.run(train);
  return sent() - before;
}

TEST(training, truncated_gradients_and_weights_take_half_the_bytes) {
  constexpr std::uint64_t whole = 3 * 400 * 300 * sizeof(float), slack = whole / 50;
  auto const plain = [](auto by) { return [=](value loss) { return by.minimize(loss); }; };
  auto const shortened = [](auto by) {
    return [=](value loss) { return by.apply(truncated(variable_gradients(loss))); };
  };
  auto const check = [&](auto by) {
    auto const both = sent_for_matrix(false, plain(by)), gradients_short = sent_for_matrix(false, shortened(by)),
               all_short = sent_for_matrix(true, shortened(by));
    EXPECT_GE(both, 2 * whole);
    EXPECT_LT(both, 2 * whole + slack);
    EXPECT_LT(gradients_short, whole + whole / 2 + slack);
    EXPECT_LT(all_short, whole + slack);
  };
  check(gradient_descent{.rate = 0.1f});
  check(synchronous(adam{.rate = 0.1f}, replicas(1)));
}

TEST(training, truncated_gradients_have_the_same_bits_over_servers_and_over_tasks) {
  auto const by = synchronous(adam{.rate = 0.1f}, replicas(2));
  test::training const how{.minimize = [=](value loss) { return by.apply(truncated(variable_gradients(loss))); },
                           .steps = 3};
  test::training const whole{.minimize = [=](value loss) { return by.minimize(loss); }, .steps = 3};
  served_cluster c({{"ps", 2}, {"worker", 2}});
  auto const there = test::train_together(2, how, [&](graph& g, std::uint32_t i) {
    return std::make_unique<session>(g, c.at("/job:worker/task:" + std::to_string(i)).target());
  });
  local_cluster const tasks({{"ps", 2}, {"worker", 2}}, [](auto const&) { return task_options{.threads = 1}; });
  auto const here = test::train_together(2, how, [&](graph& g, std::uint32_t i) {
    return std::make_unique<session>(g, tasks.target("/job:worker/task:" + std::to_string(i)));
  });
  test::expect_same(here, there);
  // In one process nothing is truncated.
  test::expect_same(test::train_here(2, how), test::train_here(2, whole));
  EXPECT_FALSE(same_bits(here.variables[0], test::train_here(2, whole).variables[0]));
}

TEST(training, reports_say_which_worker_a_round_waits_for) {
  test::report_box reports;
  served_cluster c({{"ps", 1}, {"worker", 2}}, test::recipe_options(&reports));
  auto const step = [&](std::uint32_t i, bool first) {
    test::network n;
    auto const train = synchronous(gradient_descent{.rate = 0.1f}, replicas(2)).minimize(n.loss);
    session s(n.g, c.at("/job:worker/task:" + std::to_string(i)).target());
    if (first) s.run(initializer(n.g));
    auto const [images, labels] = test::batch_of(i, 0);
    s.run({{n.x, images}, {n.label, labels}}, train, timeout(std::chrono::seconds(120)));
  };
  std::jthread const chief([&] { step(0, true); });
  EXPECT_EQ(reports.missing({"waits for the gradients of 'w', which these of 2 workers have not added: 1"}), "");
  step(1, false);
}

}  // namespace
}  // namespace rill
