// Synchronous training by several sessions: in one process, and over tasks.
#include "rill/train/synchronous.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "train/workers.hpp"

namespace rill {
namespace {

using namespace test;

constexpr std::uint32_t three = 3;

template <class Optimizer> training together(Optimizer by, double dropped = 0) {
  return {.minimize = [=](value loss) { return synchronous(by, replicas(three)).minimize(loss); }, .dropped = dropped};
}

// One graph adds the gradients of the workers' batches in their order.
template <class Optimizer> trained in_one_graph(Optimizer by, int steps) {
  graph g(7);
  auto w = variable<float, 8, 16>(g, "w", glorot());
  auto b = variable<float, 16>(g, "b", zeros());
  auto u = variable<float, 16, 2>(g, "u", glorot());
  std::vector<value> x, labels, losses;
  std::vector<variable_gradient> sums;
  for (std::size_t i = 0; i < three; ++i) {
    auto xi = placeholder<float, unknown, 8>(g, "x" + std::to_string(i));
    auto label = placeholder<float, unknown, 2>(g, "label" + std::to_string(i));
    auto const loss = mean(square(matmul(relu(matmul(xi, w) + b), u) - label));
    auto const mine = variable_gradients(loss);
    for (std::size_t k = 0; k < mine.size(); ++k)
      if (i == 0) sums.push_back(mine[k]);
      else sums[k].gradient.dense = sums[k].gradient.dense + mine[k].gradient.dense;
    x.push_back(xi), labels.push_back(label), losses.push_back(loss);
  }
  for (auto& s : sums) s.gradient.dense = s.gradient.dense / like(s.gradient.dense, three);
  auto const train = by.apply(sums);
  session s(g, {.threads = 1});
  s.run(initializer(g));
  trained all;
  all.losses.resize(three);
  for (int step = 0; step < steps; ++step) {
    std::vector<feed> feeds;
    for (std::size_t i = 0; i < three; ++i) {
      auto const [images, of] = batch_of(i, step);
      feeds.emplace_back(x[i], images);
      feeds.emplace_back(labels[i], of);
    }
    auto const [l0, l1, l2] = s.run(std::span<feed const>(feeds), losses[0], losses[1], losses[2], train);
    all.losses[0].push_back(l0), all.losses[1].push_back(l1), all.losses[2].push_back(l2);
  }
  auto const [first, second, third] = s.run(w, b, u);
  all.variables = {first, second, third};
  return all;
}

TEST(synchronous, has_the_bits_of_one_graph_that_adds_the_gradients_of_all_batches) {
  auto const check = [](auto by) {
    auto const how = together(by);
    auto const here = train_here(three, how);
    expect_same(here, in_one_graph(by, how.steps));
    EXPECT_FALSE(same_bits(here.losses[0][0], here.losses[0][3]));
  };
  check(gradient_descent{.rate = 0.1f});
  check(momentum{.rate = 0.1f});
  check(adam{.rate = 0.1f});
}

local_cluster two_jobs() {
  return local_cluster({{"ps", 2}, {"worker", three}}, [](device_name const&) { return task_options{.threads = 1}; });
}
trained train_over_tasks(training const& how) {
  auto const cluster = two_jobs();
  return train_together(three, how, [&](graph& g, std::uint32_t i) {
    return std::make_unique<session>(g, cluster.target("/job:worker/task:" + std::to_string(i)));
  });
}

TEST(synchronous, has_the_same_bits_over_tasks) {
  auto const check = [](auto by) { expect_same(train_here(three, together(by)), train_over_tasks(together(by))); };
  check(gradient_descent{.rate = 0.1f});
  check(momentum{.rate = 0.1f, .nesterov = true});
  check(adam{.rate = 0.1f});
}

TEST(synchronous, workers_draw_different_numbers_and_the_same_over_tasks) {
  auto const how = together(adam{.rate = 0.1f}, 0.5);
  auto const here = train_here(three, how);
  expect_same(here, train_over_tasks(how));
  // With the same batches, only the salt differs.
  auto const loss_of = [](std::uint32_t worker, std::optional<std::uint64_t> salt) {
    network n(0.5);
    session s(n.g, {.threads = 1, .soft_placement = true, .worker = worker, .salt = salt});
    s.run(initializer(n.g));
    auto const [images, labels] = batch_of(0, 0);
    return tensor(s.run({{n.x, images}, {n.label, labels}}, n.loss));
  };
  EXPECT_FALSE(same_bits(loss_of(0, {}), loss_of(1, {})));
  EXPECT_TRUE(same_bits(loss_of(0, {}), loss_of(1, 0)));
  EXPECT_TRUE(same_bits(loss_of(1, {}), loss_of(7, 1)));
}

TEST(synchronous, first_values_do_not_depend_on_the_worker) {
  auto const first = [](std::uint32_t worker) {
    network n;
    session s(n.g, {.threads = 1, .soft_placement = true, .worker = worker});
    s.run(initializer(n.g));
    return tensor(s.run(n.w));
  };
  EXPECT_TRUE(same_bits(first(0), first(5)));
}

/// A table whose rows are gathered, and a matrix.
struct rows_of_a_table {
  graph g{3};
  expr<of<std::int64_t, "n">> which = placeholder<std::int64_t, "n">(g, "which");
  variable_expr<of<float, 100, 4>> table = on_ps(g, [&] { return variable<float, 100, 4>(g, "table", glorot()); });
  variable_expr<of<float, 4, 2>> u = on_ps(g, [&] { return variable<float, 4, 2>(g, "u", glorot()); });
  expr<of<float>> loss = mean(square(matmul(gather(table, which), u) - 1.f));
};

template <class Optimizer> std::vector<tensor> train_table(Optimizer by, session_maker const& make) {
  std::vector<tensor> made;
  std::latch ready(1);
  auto const work = [&](std::uint32_t i) {
    rows_of_a_table m;
    auto const train = synchronous(by, replicas(2)).minimize(m.loss);
    auto const s = make(m.g, i);
    if (i == 0) s->run(initializer(m.g)), ready.count_down();
    else ready.wait();
    for (std::int64_t step = 0; step < 4; ++step) {
      tensor const rows = i == 0 ? vector<std::int64_t>({3, 99, 3}) : vector<std::int64_t>({step, 3});
      s->run({{m.which, rows}}, train, timeout(std::chrono::seconds(60)));
    }
    if (i == 0) {
      auto const [a, b] = s->run(m.table, m.u);
      made = {a, b};
    }
  };
  std::jthread const other(work, 1);
  work(0);
  return made;
}

void expect_close(std::vector<tensor> const& came, std::vector<tensor> const& wanted) {
  for (std::size_t k = 0; k < wanted.size(); ++k)
    for (std::int64_t e = 0; e < wanted[k].elements(); ++e)
      EXPECT_NEAR(came[k].data<float>()[e], wanted[k].data<float>()[e], 1e-5) << k << ", element " << e;
}

TEST(synchronous, averages_sparse_gradients_as_dense_ones) {
  auto const check = [](auto by) {
    auto const state = std::make_shared<container>();
    auto const here = train_table(by, [&](graph& g, std::uint32_t i) {
      return std::make_unique<session>(
          g, session_options{.threads = 1, .state = state, .soft_placement = true, .worker = i});
    });
    auto const cluster = two_jobs();
    auto const there = train_table(by, [&](graph& g, std::uint32_t i) {
      return std::make_unique<session>(g, cluster.target("/job:worker/task:" + std::to_string(i)));
    });
    // The reference computes both gradients in one graph and adds them as dense ones.
    rows_of_a_table m;
    auto other = placeholder<std::int64_t, "m">(m.g, "other");
    auto const second = mean(square(matmul(gather(m.table, other), m.u) - 1.f));
    auto all = variable_gradients(m.loss), more = variable_gradients(second);
    for (std::size_t k = 0; k < all.size(); ++k) {
      value const v = all[k].variable;
      all[k].gradient = (densify(all[k].gradient, v) + densify(more[k].gradient, v)) / like(v, 2);
    }
    auto const train = by.apply(all);
    session s(m.g, {.threads = 1, .soft_placement = true});
    s.run(initializer(m.g));
    for (std::int64_t step = 0; step < 4; ++step)
      s.run({{m.which, vector<std::int64_t>({3, 99, 3})}, {other, vector<std::int64_t>({step, 3})}}, train);
    auto const [a, b] = s.run(m.table, m.u);
    ASSERT_EQ(here.size(), 2u);
    expect_close(here, {a, b});
    for (std::size_t k = 0; k < 2; ++k) EXPECT_TRUE(same_bits(here[k], there[k])) << k;
  };
  check(gradient_descent{.rate = 0.1f});
  check(adam{.rate = 0.1f});
}

template <class F> error thrown_by(F const& f) {
  try {
    f();
  } catch (error const& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return error::no_memory();
}
bool says(error const& e, std::string_view what) { return std::string_view(e.what()).find(what) != std::string::npos; }

TEST(synchronous, refuses_a_worker_with_another_loss) {
  auto const state = std::make_shared<container>();
  auto const options = [&](std::uint32_t i) {
    return session_options{.threads = 1, .state = state, .soft_placement = true, .worker = i};
  };
  network a, b, c;
  auto const first = synchronous(adam{}, replicas(2)).minimize(a.loss);
  auto const second = synchronous(adam{}, replicas(2)).minimize(b.loss * 2.f);
  auto const third = synchronous(adam{}, replicas(3)).minimize(c.loss);
  auto const [images, labels] = batch_of(0, 0);
  session chief(a.g, options(0));
  chief.run(initializer(a.g));
  struct stopping final : observer {
    void node_ran(node_record const& r) override {
      if (r.operation == "begin_round") source.request_stop();
    }
    std::stop_source source;
  } stop;  // when worker 0 has said how many workers there are
  auto const alone =
      thrown_by([&] { chief.run({{a.x, images}, {a.label, labels}}, first, stop.source.get_token(), observe(stop)); });
  EXPECT_EQ(alone.code(), code::cancelled) << alone.what();
  auto const step = [&](session& s, network const& n, operation train) {
    s.run({{n.x, images}, {n.label, labels}}, train, timeout(std::chrono::seconds(60)));
  };
  session other(b.g, options(1)), more(c.g, options(1)), beyond(a.g, options(2));
  for (auto* s : {&other, &more}) {
    auto const& n = s == &other ? b : c;
    auto const e = thrown_by([&] { step(*s, n, s == &other ? second : third); });
    EXPECT_EQ(e.code(), code::failed_precondition) << e.what();
    EXPECT_TRUE(says(e, "another graph than worker 0")) << e.what();
  }
  auto const e = thrown_by([&] { step(beyond, a, first); });
  EXPECT_EQ(e.code(), code::failed_precondition) << e.what();
  EXPECT_TRUE(says(e, "worker 2 of 2")) << e.what();
}

TEST(synchronous, a_step_that_is_repeated_counts_once) {
  // In each round of the second run one worker's step fails when it has added its gradients: the other has not come.
  auto const run = [](bool failing) {
    auto const state = std::make_shared<container>();
    std::vector<std::unique_ptr<network>> all;
    std::vector<operation> train;
    std::vector<std::unique_ptr<session>> sessions;
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto& n = *all.emplace_back(std::make_unique<network>());
      train.push_back(synchronous(momentum{.rate = 0.1f}, replicas(2)).minimize(n.loss));
      sessions.push_back(std::make_unique<session>(
          n.g, session_options{.threads = 1, .state = state, .soft_placement = true, .worker = i}));
    }
    sessions[0]->run(initializer(all[0]->g));
    auto const step = [&](std::uint32_t i, int k, std::chrono::milliseconds time) {
      auto const [images, labels] = batch_of(i, k);
      sessions[i]->run({{all[i]->x, images}, {all[i]->label, labels}}, train[i], timeout(time));
    };
    for (int k = 0; k < 3; ++k) {
      if (failing) {
        auto const e = thrown_by([&] { step(static_cast<std::uint32_t>(k % 2), k, std::chrono::milliseconds(50)); });
        EXPECT_EQ(e.code(), code::deadline_exceeded) << e.what();
      }
      std::jthread const other([&] { step(1, k, std::chrono::seconds(60)); });
      step(0, k, std::chrono::seconds(60));
    }
    return all[0]->variables(*sessions[0]);
  };
  auto const once = run(false), twice = run(true);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(same_bits(once[i], twice[i])) << i;
}

TEST(synchronous, reads_after_the_update_see_it_on_each_worker) {
  auto const state = std::make_shared<container>();
  std::vector<tensor> before(2), after(2);
  std::latch ready(1);
  auto const work = [&](std::uint32_t i) {
    network n;
    auto const train = synchronous(gradient_descent{.rate = 0.1f}, replicas(2)).minimize(n.loss);
    auto const updated = n.g.after({train}, [&] { return read(n.w); });
    session s(n.g, {.threads = 1, .state = state, .soft_placement = true, .worker = i});
    if (i == 0) s.run(initializer(n.g)), ready.count_down();
    else ready.wait();
    auto const [images, labels] = batch_of(i, 0);
    auto const [a, b] =
        s.run({{n.x, images}, {n.label, labels}}, n.w, updated, train, timeout(std::chrono::seconds(60)));
    before[i] = a, after[i] = b;
  };
  {
    std::jthread const other(work, 1);
    work(0);
  }
  EXPECT_TRUE(same_bits(before[0], before[1]));
  EXPECT_TRUE(same_bits(after[0], after[1]));
  EXPECT_FALSE(same_bits(before[0], after[0]));
}

TEST(synchronous, is_recorded_outside_of_bodies) {
  network n;
  auto const e = thrown_by([&] {
    map(
        [&](auto x) {
          auto const loss = x * sum(expr(n.w));
          synchronous(gradient_descent{}, replicas(2)).minimize(loss);
          return loss;
        },
        constant<float, 2>(n.g, {1, 2}));
  });
  EXPECT_EQ(e.code(), code::failed_precondition) << e.what();
  EXPECT_TRUE(says(e, "record it outside")) << e.what();
  EXPECT_EQ(thrown_by([] { replicas(0); }).code(), code::invalid_argument);
}

TEST(synchronous, runs_where_the_variables_lie_whatever_is_asked_for_around_it) {
  local_cluster const cluster({{"ps", 1}, {"worker", 2}},
                              [](device_name const&) { return task_options{.threads = 1}; });
  graph g;
  auto const v = g.on("/job:ps", [&] { return variable(constant<float, 2>(g, {1, 2}), "v"); });
  auto const train = g.on("/job:worker/task:1",
                          [&] { return synchronous(gradient_descent{0.1f}, replicas(1)).minimize(sum(square(v))); });
  session s(g, cluster.target());
  s.run(initializer(g));
  s.run(train);
  EXPECT_FLOAT_EQ(s.run(value(v)).to(host).at<float>(1), 1.6f);
}

}  // namespace
}  // namespace rill
