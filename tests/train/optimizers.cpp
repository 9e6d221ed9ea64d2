// Each optimizer and schedule steps as PyTorch's, or as the published update: values/record_optimizers.py.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ops/run.hpp"
#include "rill/rill.hpp"
#include "train/recorded_values.hpp"

namespace rill {
namespace {

tensor recorded(std::string const& name) { return test::recorded_value("optimizers", name); }

// The model of record_optimizers.py.
struct recorded_model {
  graph g;
  variable_value w, b;
  value loss;

  explicit recorded_model(dtype d) {
    auto const numbers = [&](std::initializer_list<double> all, shape const& extents) {
      return constant(g, test::from_doubles(d, extents, std::vector<double>(all)));
    };
    w = variable(numbers({0.1, -0.2, 0.3, 0.4, -0.5, 0.6}, {3, 2}), "w");
    b = variable(numbers({0, 0}, {2}), "b");
    auto const x = numbers({0.5, -1, 2, 1.5, 0.25, -0.75, -1, 1, 0.5, 0, -0.5, 1, 2, 1, -1}, {5, 3});
    auto const t = numbers({0.5, -0.5, 0.25, 1, -1, 0.75, 0, 0.5, 1, -1}, {5, 2});
    loss = mean(square(tanh(matmul(x, value(w)) + value(b)) - t));
  }
};

void expect_steps(std::string const& name, dtype d, std::function<operation(value)> const& minimize, double tolerance) {
  auto const losses = recorded(name + ".losses"), weights = recorded(name + ".weights");
  recorded_model m(d);
  auto const train = minimize(m.loss);
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  value const loss = cast(m.loss, dtype::float64), w = cast(m.w, dtype::float64), b = cast(m.b, dtype::float64);
  for (std::int64_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(s.run(loss, train).item<double>(), losses.at<double>(i), tolerance) << name << ", step " << i;
    auto const now_w = s.run(w), now_b = s.run(b);
    for (std::int64_t k = 0; k < 8; ++k)
      ASSERT_NEAR(k < 6 ? now_w.at<double>(k / 2, k % 2) : now_b.at<double>(k - 6), weights.at<double>(i, k), tolerance)
          << name << " of " << rill::name(d) << ", step " << i << ", weight " << k;
  }
}

void expect_as_recorded(std::string const& name, auto const& optimizer) {
  auto const minimize = [&](value loss) { return optimizer.minimize(loss); };
  expect_steps(name, dtype::float64, minimize, 1e-12);
  expect_steps(name, dtype::float32, minimize, 5e-6);
}

TEST(recorded_optimizers, descend_with_weight_decay) {
  expect_as_recorded("descent", gradient_descent{.rate = 0.5});
  expect_as_recorded("descent_l2", gradient_descent{.rate = 0.5, .weight_decay = {.l2 = 0.1}});
  expect_as_recorded("descent_decoupled", gradient_descent{.rate = 0.5, .weight_decay = {.decoupled = 0.1}});
  expect_as_recorded("momentum_l2", momentum{.rate = 0.1, .weight_decay = {.l2 = 0.05}});
  expect_as_recorded("nesterov_l2",
                     momentum{.rate = 0.1, .decay = 0.8, .nesterov = true, .weight_decay = {.l2 = 0.05}});
}

TEST(recorded_optimizers, adam_and_its_kin) {
  expect_as_recorded("adam", adam{.rate = 0.05});
  expect_as_recorded(
      "adam_l2",
      adam{.rate = 0.05, .first_decay = 0.8, .second_decay = 0.95, .epsilon = 1e-3, .weight_decay = {.l2 = 0.1}});
  expect_as_recorded("adamw", adamw{.rate = 0.05});
  expect_as_recorded(
      "adamw_more",
      adamw{
          .rate = 0.05, .first_decay = 0.8, .second_decay = 0.95, .epsilon = 1e-3, .weight_decay = {.decoupled = 0.3}});
  expect_as_recorded("adamax", adamax{.rate = 0.05});
  expect_as_recorded(
      "adamax_more",
      adamax{.rate = 0.05, .first_decay = 0.8, .second_decay = 0.9, .epsilon = 1e-3, .weight_decay = {.l2 = 0.1}});
  expect_as_recorded("nadam", nadam{.rate = 0.05});
  expect_as_recorded("nadam_more", nadam{.rate = 0.05,
                                         .first_decay = 0.8,
                                         .second_decay = 0.95,
                                         .epsilon = 1e-3,
                                         .momentum_decay = 0.1,
                                         .weight_decay = {.decoupled = 0.1}});
}

TEST(recorded_optimizers, adagrad_adadelta_and_rmsprop) {
  expect_as_recorded("adagrad", adagrad{.rate = 0.2});
  expect_as_recorded(
      "adagrad_more",
      adagrad{.rate = 0.2, .rate_decay = 0.1, .initial_sum = 0.2, .epsilon = 1e-3, .weight_decay = {.l2 = 0.05}});
  expect_as_recorded("adadelta", adadelta{});
  expect_as_recorded("adadelta_more",
                     adadelta{.rate = 0.7, .decay = 0.8, .epsilon = 1e-3, .weight_decay = {.l2 = 0.1}});
  expect_as_recorded("rmsprop", rmsprop{.rate = 0.02});
  expect_as_recorded("rmsprop_eps", rmsprop{.rate = 0.02, .decay = 0.9, .epsilon = 1e-2, .weight_decay = {.l2 = 0.1}});
  expect_as_recorded("rmsprop_momentum", rmsprop{.momentum = 0.8});
  expect_as_recorded("rmsprop_centered", rmsprop{.decay = 0.9, .centered = true});
  expect_as_recorded(
      "rmsprop_all",
      rmsprop{.decay = 0.9, .epsilon = 1e-4, .momentum = 0.5, .centered = true, .weight_decay = {.l2 = 0.1}});
}

TEST(recorded_optimizers, lion_and_ftrl) {
  expect_as_recorded("lion", lion{.rate = 0.03});
  expect_as_recorded("lion_more",
                     lion{.rate = 0.03, .first_decay = 0.8, .second_decay = 0.95, .weight_decay = {.decoupled = 0.2}});
  expect_as_recorded("ftrl", ftrl{.rate = 0.5});
  expect_as_recorded("ftrl_more", ftrl{.rate = 0.5, .l1 = 0.05, .l2 = 0.3, .beta = 0.2, .initial_sum = 0.01});
}

TEST(recorded_optimizers, take_schedules_and_count_their_steps) {
  expect_as_recorded("descent_one_cycle", gradient_descent{.rate = one_cycle{.peak = 1, .steps = 20}});
  expect_as_recorded("adamw_cosine", adamw{.rate = cosine_decay{.start = 0.1, .end = 0.01, .steps = 20},
                                           .weight_decay = {.decoupled = 0.1}});
  expect_as_recorded("momentum_warm_up",
                     momentum{.rate = warm_up{.from = 0.1, .steps = 5, .then = exponential_decay{.factor = 0.9}}});
}

TEST(recorded_optimizers, leave_alone_what_has_no_gradient) {
  recorded_model m(dtype::float32);
  auto const start = [&](operation train) {
    session s{m.g, {.threads = 1}};
    s.run(initializer(m.g));
    s.run(train);
    return tensor(s.run(m.w)).clone();
  };
  value const none = m.loss * 0.f;
  auto const before = start(gradient_descent{.rate = 0}.minimize(none));
  EXPECT_TRUE(same_bits(start(adagrad{}.minimize(none)), before));
  EXPECT_TRUE(same_bits(start(adadelta{}.minimize(none)), before));
  EXPECT_TRUE(same_bits(start(rmsprop{.momentum = 0.9, .centered = true}.minimize(none)), before));
  EXPECT_TRUE(same_bits(start(adamax{}.minimize(none)), before));
  EXPECT_TRUE(same_bits(start(nadam{}.minimize(none)), before));
  EXPECT_TRUE(same_bits(start(lion{}.minimize(none)), before));
  auto const all_zero = start(ftrl{}.minimize(none));
  for (float each : all_zero.span<float>()) EXPECT_EQ(each, 0) << "ftrl's weights follow from z, which is 0";
}

TEST(recorded_optimizers, centre_gradients_that_stay_the_same_without_a_root_of_a_negative_number) {
  graph g;
  auto const slopes = constant(g, test::scattered(dtype::float32, {64}));
  auto const w = variable(constant(g, test::from_doubles(dtype::float32, {64}, std::vector<double>(64))), "w");
  auto const train = rmsprop{.rate = 1e-9, .decay = 0.5, .centered = true}.minimize(sum(w * slopes));
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  for (int i = 0; i < 300; ++i) s.run(train);
  auto const found = s.run(w);
  for (float each : found.span<float>()) EXPECT_TRUE(std::isfinite(each));
}

TEST(recorded_optimizers, refuse_what_they_can_not_train) {
  graph g;
  auto const w = variable(constant(g, std::complex<float>(1, 2)), "w");
  value const loss = value(w) * conj(value(w));
  EXPECT_NO_THROW(adagrad{}.minimize(loss));
  EXPECT_NO_THROW(rmsprop{.centered = true}.minimize(loss));
  EXPECT_THROW(lion{}.minimize(loss), error);
  EXPECT_THROW(ftrl{}.minimize(loss), error);
  EXPECT_THROW(adamax{}.minimize(loss), error);
  for (auto const& refused : {std::function([] { adagrad{}.apply({}); }), std::function([] { adadelta{}.apply({}); }),
                              std::function([] { rmsprop{}.apply({}); }), std::function([] { lion{}.apply({}); }),
                              std::function([] { ftrl{}.apply({}); }), std::function([] { adamax{}.apply({}); }),
                              std::function([] { nadam{}.apply({}); }), std::function([] { adamw{}.apply({}); })})
    test::expect_error(code::invalid_argument, "expected at least one gradient, got an empty list", refused);
}

TEST(recorded_optimizers, name_their_slots_after_the_variable) {
  recorded_model m(dtype::float32);
  adagrad{}.minimize(m.loss);
  adadelta{}.minimize(m.loss);
  rmsprop{.momentum = 0.9, .centered = true}.minimize(m.loss);
  lion{}.minimize(m.loss);
  ftrl{}.minimize(m.loss);
  adamax{}.minimize(m.loss);
  nadam{.rate = exponential_decay{}}.minimize(m.loss);
  gradient_descent{.rate = exponential_decay{}}.minimize(m.loss);
  for (auto name : {"w/adagrad", "w/adadelta/gradients", "w/adadelta/updates", "w/rmsprop/squares", "w/rmsprop/mean",
                    "w/rmsprop/momentum", "w/lion", "w/ftrl/z", "w/ftrl/n", "w/adamax/m", "w/adamax/u", "adamax/step",
                    "w/nadam/m", "w/nadam/v", "nadam/step", "nadam/product", "gradient_descent/step"})
    EXPECT_TRUE(m.g.contains(name)) << name;
  for (auto name : {"adagrad/step", "lion/step", "nadam_1/step"}) EXPECT_FALSE(m.g.contains(name)) << name;
  EXPECT_EQ(trainable_variables(m.g).size(), 2u);
}

// Trains variables of ps tasks by steps of one worker after another has initialised them, and returns what lies
// elsewhere.
std::set<std::string> variables_off_ps(std::function<std::vector<operation>(value loss)> const& record) {
  graph g;
  auto const w = g.on("/job:ps/task:1", [&] { return variable<float, 8>(g, "w", zeros()); });
  auto const v = g.near(w, [&] { return variable<float, 4>(g, "v", zeros()); });
  auto const steps = record(sum(square(expr(w) - 1.f)) + sum(square(expr(v) - 1.f)));
  local_cluster const cluster({{"ps", 2}, {"worker", 2}}, [](auto const&) { return task_options{.threads = 1}; });
  session first{g, cluster.target("/job:worker/task:0")}, second{g, cluster.target("/job:worker/task:1")};
  first.run(initializer(g));
  for (auto const& each : steps) second.run(each);
  std::set<std::string> found;
  for (auto const* task : {"/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"})
    for (auto const& each : cluster.state(task).variables()) found.insert(task + (" " + each->name()));
  return found;
}

TEST(recorded_optimizers, keep_all_their_state_on_the_task_that_the_variables_ask_for) {
  rate const scheduled = exponential_decay{};
  auto const expect_none = [](auto const& record) { EXPECT_EQ(variables_off_ps(record), std::set<std::string>()); };
  auto const expect_none_of = [&](auto const& optimizer) {
    expect_none([&](value loss) { return std::vector<operation>{optimizer.minimize(loss)}; });
  };
  expect_none_of(adam{});
  expect_none_of(adamw{.rate = scheduled});
  expect_none_of(nadam{});
  expect_none_of(adamax{});
  expect_none_of(gradient_descent{.rate = scheduled});
  expect_none_of(momentum{.rate = scheduled});
  expect_none_of(adagrad{.rate = scheduled});
  expect_none_of(adadelta{.rate = scheduled});
  expect_none_of(rmsprop{.rate = scheduled, .momentum = 0.5, .centered = true});
  expect_none_of(lion{.rate = scheduled});
  expect_none_of(ftrl{.rate = scheduled});
  expect_none([](value loss) {
    gradient_sums const sums(variable_gradients(loss));
    return std::vector<operation>{sums.add(), sums.apply(adam{})};
  });
  expect_none([](value loss) {
    moving_averages const averages(trainable_variables(loss), {.bias_correction = true});
    return std::vector<operation>{averages.update({adam{}.minimize(loss)}), averages.swap()};
  });
}

TEST(recorded_optimizers, keep_their_state_beside_slots_where_on_says_if_the_variables_ask_for_no_task) {
  graph g;
  auto const w = variable<float, 8>(g, "w", zeros());
  g.on("/job:ps", [&] { return adam{}.minimize(sum(square(expr(w)))); });
  EXPECT_EQ(g.find_node("adam/step")->device, "/job:ps");
  g.on("/device:cpu:0", [&] { return nadam{}.minimize(sum(square(expr(w)))); });
  EXPECT_EQ(g.find_node("nadam/product")->device, "/device:cpu:0");
}

// The rates of the first steps, by a graph into which the step is fed.
void expect_rates(std::string const& name, auto const& schedule) {
  auto const expected = recorded("schedule." + name);
  graph g;
  auto const step = placeholder<std::int64_t>(g, "step");
  value const rate = schedule(step);
  EXPECT_EQ(rate.type(), of<double>) << name;
  session s{g, {.threads = 1}};
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    EXPECT_NEAR(s.run({{step, tensor(i)}}, rate).item<double>(), expected.at<double>(i), 1e-13)
        << name << ", step " << i;
}

TEST(schedules, give_the_rates_of_torch) {
  expect_rates("exponential", exponential_decay{.factor = 0.96});
  expect_rates("staircase", exponential_decay{.factor = 0.5, .steps = 7, .staircase = true});
  expect_rates("cosine", cosine_decay{.end = 0.01, .steps = 20});
  expect_rates("restarts", cosine_restarts{.end = 0.01, .steps = 10});
  expect_rates("growing_restarts", cosine_restarts{.end = 0.01, .steps = 10, .growth = 2});
  expect_rates("piecewise", piecewise_constant{.boundaries = {5, 9, 20}, .values = {0.1, 0.05, 0.025, 0.0125}});
  expect_rates("polynomial", polynomial_decay{.steps = 20});
  expect_rates("square", polynomial_decay{.steps = 20, .power = 2});
  expect_rates("warm_up", warm_up{.from = 0.25, .steps = 8, .then = cosine_decay{.steps = 20}});
  expect_rates("one_cycle", one_cycle{.steps = 40});
  expect_rates("one_cycle_linear",
               one_cycle{.peak = 0.2, .steps = 50, .rise = 0.2, .divide = 10, .divide_end = 100, .linear = true});
}

double rate_at(auto const& schedule, double step) {
  graph g;
  auto const fed = placeholder<double>(g, "step");
  session s{g, {.threads = 1}};
  return s.run({{fed, tensor(step)}}, schedule(value(fed))).template item<double>();
}

TEST(schedules, stay_where_they_end) {
  EXPECT_EQ(rate_at(cosine_decay{.end = 0.02, .steps = 10}, 1e9), 0.02);
  EXPECT_EQ(rate_at(polynomial_decay{.end = 0.02, .steps = 10, .power = 3}, 1e9), 0.02);
  EXPECT_NEAR(rate_at(one_cycle{.peak = 0.25, .steps = 10}, 1e9), 1e-6, 1e-15);
  EXPECT_EQ(rate_at(warm_up{.steps = 10, .then = 0.5}, 1e9), 0.5);
  EXPECT_EQ(rate_at(one_cycle{.peak = 0.25, .steps = 10, .rise = 0}, 0), 0.25);
  EXPECT_EQ(rate_at(one_cycle{.peak = 0.25, .steps = 10, .rise = 1}, 9), 0.25);
}

TEST(schedules, restart_at_the_first_step_of_each_period) {
  for (double const growth : {1.0, 1.5, 2.0, 3.0}) {
    cosine_restarts const schedule{.start = 1, .steps = 1000, .growth = growth, .shrink = 0.5};
    double begin = 0, length = 1000, high = 1;
    for (int period = 0; period < 12; ++period) {
      EXPECT_NEAR(rate_at(schedule, begin), high, 1e-9) << growth << ", period " << period;
      begin += length, length *= growth;
      EXPECT_LT(rate_at(schedule, begin - 1), high * 1e-5) << growth << ", period " << period;
      high *= 0.5;
    }
  }
}

TEST(schedules, refuse_numbers_that_make_no_schedule) {
  test::expect_error(code::invalid_argument, "cosine_decay: expected a number of steps above 0, got 0",
                     [] { rate_at(cosine_decay{.steps = 0}, 0); });
  test::expect_error(code::invalid_argument, "cosine_restarts: expected a growth of 1 or more, got 0.5",
                     [] { rate_at(cosine_restarts{.growth = 0.5}, 0); });
  test::expect_error(code::invalid_argument, "expected one value more than the 1 boundaries, got 1",
                     [] { rate_at(piecewise_constant{.boundaries = {1}, .values = {1}}, 0); });
  test::expect_error(code::invalid_argument, "expected boundaries that ascend",
                     [] { rate_at(piecewise_constant{.boundaries = {2, 1}, .values = {1, 2, 3}}, 0); });
  test::expect_error(code::invalid_argument, "expected a rise from 0 to 1, got 2",
                     [] { rate_at(one_cycle{.rise = 2}, 0); });
  recorded_model m(dtype::float32);
  test::expect_error(code::invalid_argument, "a rate: expected a scalar",
                     [&] { adam{.rate = [&](value) { return value(m.w); }}.minimize(m.loss); });
}

TEST(schedules, are_shared_by_optimizers_that_take_a_value) {
  recorded_model m(dtype::float32);
  auto const step = variable(constant(m.g, std::int64_t{0}), "step", {.trainable = false});
  value const rate = exponential_decay{.start = 0.5, .factor = 0.5}(step);
  auto const first = gradient_descent{.rate = rate}.minimize(m.loss, {m.w});
  auto const second = gradient_descent{.rate = rate}.minimize(m.loss, {m.b});
  operation const count =
      m.g.after({first, second}, [&] { return operation(assign_add(step, constant(m.g, std::int64_t{1}))); });
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  for (double const expected : {0.5, 0.25, 0.125}) EXPECT_EQ(s.run(rate, count).item<double>(), expected);
}

}  // namespace
}  // namespace rill
