// Steps over the host and emulated devices.
#include "rill/run/lanes/form_regions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "rill/rill.hpp"
#include "run/lanes/digits.hpp"

namespace rill {
namespace {

struct on_device : testing::Test {
  std::shared_ptr<emulated_accelerator> fast = emulated("accelerator:0", {.memory = 1 << 22});
  session_options options() { return {.threads = 2, .devices = {fast}}; }
};

TEST_F(on_device, a_product_runs_there_and_has_the_bits_of_the_host) {
  auto const result = [&](session_options o) {
    graph g;
    auto x = placeholder<float, "n", 8>(g, "x");
    auto w = constant(g, test::digits(8, 4));
    auto h = g.on("/device:accelerator:0", [&] { return relu(matmul(x, as<of<float, 8, 4>>(w))); });
    session s{g, o};
    return s.run({{x, test::digits(3, 8)}}, h + 1.f);
  };
  auto const before = fast->memory().usage().total;
  auto const there = result(options());
  EXPECT_GT(fast->memory().usage().total, before);
  EXPECT_TRUE(same_bits(there, result({.soft_placement = true})));
}

TEST_F(on_device, nothing_stays_in_its_memory_when_the_session_is_gone) {
  {
    graph g;
    auto x = placeholder<float, 4>(g, "x");
    auto y = g.on("/device:accelerator:0", [&] { return exp(x) * 2.f; });
    session s{g, options()};
    for (int i = 0; i < 3; ++i) s.run({{x, vector<float>({1, 2, 3, 4})}}, y);
  }
  EXPECT_EQ(fast->memory().usage().count, 0);
}

template <class Place> std::vector<tensor> train(session_options o, Place const& place) {
  graph g(3);
  auto x = placeholder<float, "n", 8>(g, "x");
  auto t = placeholder<float, "n", 4>(g, "t");
  return place(g, [&] {
    auto w = variable<float, 8, 4>(g, "w", glorot());
    auto b = variable<float, 4>(g, "b", zeros());
    auto loss = mean(square(tanh(matmul(x, w) + b) - t));
    auto step = adam{.rate = 0.1f}.minimize(loss);
    session s{g, o};
    s.run(initializer(g));
    std::vector<tensor> losses;
    for (int i = 0; i < 5; ++i)
      losses.push_back(s.run({{x, test::digits(16, 8)}, {t, test::digits(16, 4)}}, loss, step));
    losses.push_back(s.run(w).to(host));
    return losses;
  });
}

TEST_F(on_device, a_model_with_its_variables_trains_there_with_the_bits_of_the_host) {
  auto const there = train(options(), [](graph& g, auto const& f) { return g.on("/device:accelerator:0", f); });
  auto const here = train({}, [](graph&, auto const& f) { return f(); });
  ASSERT_EQ(there.size(), here.size());
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(same_bits(there[i], here[i])) << i;
}

TEST_F(on_device, a_fetch_that_was_put_there_stays_and_can_be_fed_again) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/device:accelerator:0", [&] { return x * 2.f; });
  session s{g, options()};
  tensor const there = s.run({{x, vector<float>({1, 2, 3, 4})}}, y);
  ASSERT_NE(there.space(), nullptr);
  EXPECT_THROW(there.span<float>(), error);
  EXPECT_EQ(there.to(host).at<float>(3), 8);
  tensor const again = s.run({{x, there}}, y);
  EXPECT_EQ(again.to(host).at<float>(3), 16);
  EXPECT_EQ(there.to(host).at<float>(3), 8);
}

TEST_F(on_device, a_number_that_stays_there_is_read_like_any_other) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/device:accelerator:0", [&] { return sum(x); });
  session s{g, options()};
  auto step = s.prepare(inputs(x), outputs(y));
  float const total = step(vector<float>({1, 2, 3, 4}));
  EXPECT_EQ(total, 10);
}

TEST_F(on_device, a_session_without_it_copies_what_is_fed_from_there) {
  graph g;
  auto x = placeholder<float, 4>(g, "x"), z = placeholder<float, 4>(g, "z");
  auto y = x + z;
  session s{g};
  auto const here = vector<float>({1, 2, 3, 4});
  auto const there = here.to(fast);
  auto const twice = vector<float>({2, 4, 6, 8});
  EXPECT_TRUE(same_bits(s.run({{x, there}, {z, here}}, y), twice));
  auto step = s.prepare(inputs(x, z), outputs(y));
  EXPECT_TRUE(same_bits(step(here, there), twice));  // compiles the step
  EXPECT_TRUE(same_bits(step(there, there), twice));
  EXPECT_TRUE(same_bits(step(here, here), twice));
  std::promise<tensor> started, prepared;
  s.start({{x, there}, {z, here}}, y, [&](auto r) { started.set_value(r ? tensor(*r) : tensor()); });
  EXPECT_TRUE(same_bits(started.get_future().get(), twice));
  step.start(here, there, [&](auto r) { prepared.set_value(r ? tensor(*r) : tensor()); });
  EXPECT_TRUE(same_bits(prepared.get_future().get(), twice));
  EXPECT_NE(there.space(), nullptr);
}

TEST_F(on_device, a_value_is_copied_once_for_each_destination) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto [a, b, c] = g.on("/device:accelerator:0", [&] { return std::tuple(x + 1.f, x + 2.f, exp(x)); });
  session s{g, options()};
  auto const total = g.on("/device:cpu", [&] { return sum(a) + sum(b) + sum(c); });
  auto const text = s.explain({{x, vector<float>({1, 2, 3, 4})}}, total);
  EXPECT_NE(text.find("4 copies"), std::string::npos) << text;  // x to it, and three values back
}

TEST_F(on_device, a_value_of_the_host_that_aliases_one_of_it_waits_for_its_other_inputs) {
  graph g;
  auto x = placeholder<float, "n">(g, "x");
  auto y = g.on("/device:accelerator:0", [&] { return value(exp(x)); });
  auto z = g.on("/device:cpu:0", [&] { return reshape_like(y, value(y + 1.f)); });
  session s{g, options()}, host{g, {.soft_placement = true}};
  auto const in = vector<float>({1, 2, 3, 4});
  EXPECT_TRUE(same_bits(s.run({{x, in}}, z), host.run({{x, in}}, z)));
}

// Passes x on, and tells which threads its kernel was given.
struct telling_op {
  static constexpr std::string_view name = "telling";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  static inline parallel given;
  static kernel cpu(kernel_request const& r) {
    return kernel([n = elements(r.outputs[0].shape())](kernel_call const& call) {
      given = call.threads;
      std::copy_n(call.in<float>(0), n, call.out<float>(0));
    });
  }
};

TEST_F(on_device, several_processors_have_threads_of_their_own) {
  auto const host = cpu(2), other = cpu(3, 1);
  graph g;
  value const x = placeholder<float, 4>(g, "x");
  session s{g, {.execution = execution::sequential, .devices = {host, other}}};
  auto const given_on = [&](char const* where) {
    value const y = g.on(where, [&] { return record_erased<telling_op>(g, {}, {x}, "telling"); });
    s.run({{x, vector<float>({1, 2, 3, 4})}}, std::vector{y});
    return telling_op::given;
  };
  auto const here = given_on("cpu:0"), there = given_on("cpu:1");
  EXPECT_EQ(here.context, host->pool().get());
  EXPECT_EQ(there.context, other->pool().get());
  EXPECT_EQ(here.threads, 2);
  EXPECT_EQ(there.threads, 3);
}

TEST_F(on_device, several_processors_run_a_model_without_a_copy) {
  auto const two = cpu(2, 1);
  session_options o{.devices = {cpu(2), two}};
  auto const there = train(o, [](graph& g, auto const& f) { return g.on("/device:cpu:1", f); });
  auto const here = train({}, [](graph&, auto const& f) { return f(); });
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(same_bits(there[i], here[i])) << i;
  EXPECT_GT(two->memory().usage().total, 0);
  graph g;
  session const s{g, o};
  EXPECT_EQ(s.threads(), 2);
}

TEST_F(on_device, a_session_without_the_device_of_a_variable_refuses_it) {
  graph g;
  auto w = g.on("/device:accelerator:0", [&] { return variable<float, 4>(g, "w", zeros()); });
  auto const state = std::make_shared<container>();
  auto o = options();
  o.state = state;
  session s{g, o};
  s.run(initializer(g));
  session without{g, {.state = state, .soft_placement = true}};
  try {
    without.run(sum(w));
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::failed_precondition);
    EXPECT_EQ(e.message(),
              "the variable 'w' lies in the memory of 'accelerator:0' and would be used in that of the host: give the "
              "session its device (session_options::devices); primitives of control flow use no variables of devices");
  }
}

TEST_F(on_device, a_value_that_the_host_gives_a_variable_counts_from_the_next_step_on) {
  graph g;
  auto w = g.on("/device:accelerator:0", [&] { return variable<float, 4>(g, "w", zeros()); });
  auto y = sum(w + 1.f);
  session s{g, options()};
  s.run(initializer(g));
  EXPECT_EQ(s.run(y).item<float>(), 4);
  s.state().variables().front()->assign(vector<float>({1, 2, 3, 4}).to(fast));
  EXPECT_EQ(s.run(y).item<float>(), 14);
}

TEST_F(on_device, a_variable_that_is_set_stays_where_it_lies) {
  graph g;
  auto w = g.on("accelerator", [&] { return variable<float, 4>(g, "w", zeros()); });
  auto v = variable<float, 4>(g, "v", zeros());
  auto y = sum(w + 1.f), z = sum(v + 1.f);
  auto o = options();
  o.state = std::make_shared<container>();
  o.placement = [](auto candidates, auto, auto const&) {
    return place_choice{candidates.front(), place_reason::fastest};
  };
  session s{g, o};
  auto const home = [&](std::string const& name) { return s.state().find_variable(name)->home(); };
  auto const four = vector<float>({1, 2, 3, 4});
  s.set(variable_value(w), four);  // before its first value, which is to lie there
  EXPECT_EQ(home("w"), fast->memory().space());
  s.run(initializer(g));
  for (auto const& t : {tensor(four), four.to(fast)}) {
    s.set(variable_value(w), t);
    s.set(variable_value(v), t);
    EXPECT_EQ(home("w"), fast->memory().space());
    EXPECT_EQ(home("v"), nullptr);
    EXPECT_EQ(s.run(y).to(host).item<float>(), 14);
    EXPECT_EQ(s.run(z).item<float>(), 14);
  }
  session without{g, {.state = o.state}};
  without.set(variable_value(w), four);
  EXPECT_EQ(home("w"), fast->memory().space());
  EXPECT_EQ(s.run(y).to(host).item<float>(), 14);
}

TEST_F(on_device, a_variable_is_moved_with_what_lies_beside_it) {
  graph g;
  auto w = variable<float, 4>(g, "w", zeros());
  auto slot = g.near(w, [&] { return variable<float, 4>(g, "slot", constant(1.0)); });
  auto step = g.near(w, [&] { return assign_add(w, as<of<float, 4>>(slot + 1.f)); });
  auto o = options();
  o.placement = [](auto candidates, auto, auto const&) {
    return place_choice{candidates.front(), place_reason::fastest};
  };
  session s{g, o};
  EXPECT_THROW(s.move(w, "accelerator:0"), error);  // it has no value
  s.run(initializer(g));
  auto const home = [&](char const* name) { return s.state().find_variable(name)->read().device(); };
  auto const moved = [&](char const* to, char const* name, float result) {
    s.move(w, to);
    s.move(slot, to);
    EXPECT_EQ(home("w"), name);
    EXPECT_EQ(home("slot"), name);
    s.run(step);
    EXPECT_EQ(home("w"), name);
    EXPECT_EQ(s.get(w).at<float>(3), result);
  };
  moved("cpu:0", "host", 2);
  moved("accelerator:0", "accelerator:0", 4);
  moved("accelerator", "accelerator:0", 6);
  moved("cpu:0", "host", 8);
  s.trim();
  EXPECT_EQ(fast->memory().usage().count, 0);
  s.move(w, "accelerator:0");
  EXPECT_THROW(s.run(step), error);  // they lie on different devices
  s.move(w, "cpu");
  s.run(step);
  try {
    s.move(w, "gpu:0");
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.message(),
              "expected the name of one device, and 'gpu:0' is that of 0: there are /device:cpu:0, "
              "/device:accelerator:0");
  }
  EXPECT_THROW(s.move(w, ""), error);
}

TEST_F(on_device, a_constant_from_its_memory_is_one_like_any_other) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto c = as<of<float, 4>>(constant(g, vector<float>({1, 2, 3, 4}).to(fast)));
  auto y = x * (c + c), z = g.on("accelerator", [&] { return exp(c); });
  session s{g, options()};
  EXPECT_TRUE(same_bits(s.run({{x, vector<float>({1, 1, 1, 1})}}, y), vector<float>({2, 4, 6, 8})));
  EXPECT_TRUE(same_bits(s.run(z), session(g, {.soft_placement = true}).run(z)));
}

TEST_F(on_device, time_is_counted_by_its_own_clock) {
  auto const timed = emulated("accelerator:0", {.flops = 1, .bandwidth = 1});  // years, if anybody waited
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("accelerator", [&] { return x + 1.f; });
  auto z = g.on("cpu:0", [&] { return sum(y); });
  session s{g, {.devices = {timed}}};
  double once = 0;
  for (int i = 1; i <= 3; ++i) {
    s.run({{x, vector<float>({1, 2, 3, 4})}}, z);
    auto const now = timed->seconds();
    if (i == 1) once = now.compute;
    EXPECT_GT(once, 0);
    EXPECT_EQ(now.compute, once * i);
    EXPECT_EQ(now.copies_in, 16. * i);
    EXPECT_EQ(now.copies_out, 16. * i);
  }
}

TEST_F(on_device, devices_need_names_of_their_own) {
  graph g;
  EXPECT_THROW(session(g, {.devices = {fast, emulated("accelerator:0")}}), error);
  EXPECT_THROW(session(g, {.devices = {emulated("accelerator")}}), error);
  EXPECT_THROW(session(g, {.devices = {nullptr}}), error);
}

TEST_F(on_device, a_started_step_waits_for_it_without_a_thread) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/device:accelerator:0", [&] { return x * 2.f; });
  auto z = sum(y);
  session s{g, options()};
  fast->compute().stall(true);
  std::promise<float> done;
  s.start({{x, vector<float>({1, 2, 3, 4})}}, z, [&](auto result) { done.set_value(*result); });
  auto future = done.get_future();
  EXPECT_EQ(future.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  fast->compute().stall(false);
  EXPECT_EQ(future.get(), 20);
}

TEST_F(on_device, a_step_at_a_device_that_stalls_ends_by_its_deadline) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/device:accelerator:0", [&] { return x * 2.f; });
  session s{g, options()};
  for (auto how : {execution::sequential, execution::automatic, execution::parallel}) {
    auto with = options();
    with.execution = how;
    session each{g, with};
    fast->compute().stall(true);
    try {
      each.run({{x, vector<float>({1, 2, 3, 4})}}, sum(y), timeout(std::chrono::milliseconds(20)));
      FAIL();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::deadline_exceeded);
    }
    fast->compute().stall(false);
    EXPECT_EQ(each.run({{x, vector<float>({1, 2, 3, 4})}}, sum(y)).item<float>(), 20);
  }
}

TEST_F(on_device, a_device_that_is_lost_ends_the_step_with_its_name) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/device:accelerator:0", [&] { return x * 2.f; });
  session s{g, options()};
  fast->lose();
  try {
    s.run({{x, vector<float>({1, 2, 3, 4})}}, y);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::unavailable);
    EXPECT_NE(std::string(e.what()).find("the device 'accelerator:0' was lost"), std::string::npos);
  }
  fast->recover();
  EXPECT_EQ(s.run({{x, vector<float>({1, 2, 3, 4})}}, sum(y)).item<float>(), 20);
}

TEST_F(on_device, an_error_on_the_device_names_its_node) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/device:accelerator:0", [&] { return check_numerics(log(x), "log of x") * 2.f; });
  session s{g, options()};
  try {
    s.run({{x, vector<float>({1, -2, 3, 4})}}, sum(y));
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.node(), "check_numerics") << e.what();
  }
}

TEST_F(on_device, too_little_memory_is_an_error_at_each_allocation_and_nothing_is_lost) {
  graph g(3);
  auto x = placeholder<float, "n", 8>(g, "x");
  auto t = placeholder<float, "n", 4>(g, "t");
  auto [loss, step] = g.on("/device:accelerator:0", [&] {
    auto w = variable<float, 8, 4>(g, "w", glorot());
    auto l = mean(square(tanh(matmul(x, w)) - t));
    return std::pair(l, gradient_descent{.rate = 0.1f}.minimize(l));
  });
  session s{g, options()};
  s.run(initializer(g));
  auto const run = [&] {
    return s.run({{x, test::digits(16, 8)}, {t, test::digits(16, 4)}}, loss, step).template item<float>();
  };
  run();
  int failed = 0;
  for (std::uint64_t n = 1;; ++n) {
    s.trim();
    fast->memory().fail_at(n);
    try {
      run();
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::resource_exhausted) << e.what();
      ++failed;
    }
    fast->memory().fail_at(0);
    EXPECT_TRUE(std::isfinite(run()));
  }
  fast->memory().fail_at(0);
  EXPECT_GT(failed, 3);
}

TEST_F(on_device, work_that_fails_anywhere_ends_the_step_and_the_next_one_is_whole) {
  graph g(3);
  auto x = placeholder<float, "n", 8>(g, "x");
  auto [w, loss, step] = g.on("accelerator", [&] {
    auto v = variable<float, 8, 4>(g, "w", glorot());
    auto l = mean(square(tanh(matmul(x, v)) - 1.f));
    return std::tuple(v, l, gradient_descent{.rate = 0.1f}.minimize(l));
  });
  session s{g, options()};
  s.run(initializer(g));
  auto const told = g.on("/device:cpu:0", [&] { return loss + 0.f; });
  auto const run = [&] { return s.run({{x, test::digits(16, 8)}}, told, step); };
  for (auto* stream : {&fast->compute(), &fast->copies_in(), &fast->copies_out()})
    for (std::uint64_t n = 1;; ++n) {
      auto const before = s.run(w).to(host);
      stream->fail_at(n, failed(code::internal, {"the device broke"}));
      bool broke = false;
      try {
        run();
      } catch (error const& e) {
        broke = e.message() == "the device broke";
        EXPECT_TRUE(broke) << e.what();
      }
      stream->fail_at(0, nullptr);
      if (!broke) {
        EXPECT_GT(n, 1u);
        break;
      }
      if (stream == &fast->copies_in()) {  // the update waits for what is fed
        EXPECT_TRUE(same_bits(s.run(w), before));
      }
      EXPECT_TRUE(std::isfinite(run().item<float>()));
    }
}

TEST_F(on_device, a_number_that_is_none_reaches_no_variable) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto [w, step] = g.on("accelerator", [&] {
    auto v = variable<float, 4>(g, "w", zeros());
    return std::pair(v, assign_add(v, check_numerics(log(x), "log of x")));
  });
  session s{g, options()};
  s.run(initializer(g));
  s.run({{x, vector<float>({1, 2, 3, 4})}}, step);
  auto const before = s.run(w).to(host);
  EXPECT_THROW(s.run({{x, vector<float>({1, -2, 3, 4})}}, step), error);
  EXPECT_TRUE(same_bits(s.run(w), before));
}

TEST_F(on_device, steps_of_several_threads_share_its_memory_without_meeting) {
  graph g;
  auto x = placeholder<float, "n", 8>(g, "x");
  auto y = g.on("accelerator", [&] { return sum(tanh(matmul(x, transpose(x))), 1); });
  session s{g, options()};
  session plain{g, {.soft_placement = true}};
  std::vector<std::future<bool>> all;
  for (std::int64_t t = 1; t <= 4; ++t)
    all.push_back(std::async(std::launch::async, [&, t] {
      bool same = true;
      for (int i = 0; i < 20; ++i)
        same = same && same_bits(s.run({{x, test::digits(8 * t, 8)}}, y), plain.run({{x, test::digits(8 * t, 8)}}, y));
      return same;
    }));
  for (auto& each : all) EXPECT_TRUE(each.get());
  s.trim();
  EXPECT_EQ(fast->memory().usage().count, 0);
}

TEST_F(on_device, what_is_fed_may_be_freed_when_run_has_returned) {
  graph g;
  auto x = placeholder<float, 1024>(g, "x");
  auto y = g.on("accelerator", [&] { return x * 2.f; });
  auto z = sum(y);
  session s{g, options()};
  for (bool stalled : {true, false}) {
    auto owned = std::make_unique<std::vector<float>>(1024, 1.f);
    fast->copies_in().stall(stalled);
    auto const run = [&] {
      return s.run({{x, tensor::borrow(std::span<float const>(*owned), {1024})}}, z,
                   timeout(stalled ? std::chrono::milliseconds(20) : std::chrono::seconds(60)));
    };
    if (stalled) EXPECT_THROW(run(), error);
    else EXPECT_EQ(run().to(host).item<float>(), 2048);
    owned.reset();
    fast->copies_in().stall(false);
  }
}

TEST(regions, copies_run_ahead_of_kernels_by_a_part_of_the_memory) {
  auto const small = emulated("accelerator:0", {.memory = 1 << 20});  // room for 16 of 64 values
  graph g;
  std::vector<feed> feeds;
  value total;
  for (int i = 0; i < 64; ++i) {
    value const x = placeholder(g, of<float, 128, 128>, "x" + std::to_string(i));
    feeds.push_back({x, test::digits(128, 128)});
    g.on("/device:accelerator:0", [&] { total = total ? add(total, sum(x)) : sum(x); });
  }
  value const result = g.on("/device:cpu:0", [&] { return neg(total); });
  session s{g, {.threads = 2, .passes = pass_options::none(), .devices = {small}}};
  auto const run = [&] { return s.run(std::span<feed const>(feeds), result).template item<float>(); };
  auto const first = run();
  EXPECT_EQ(run(), first);
}

TEST_F(on_device, results_of_regions_are_not_kept_for_the_next_step) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/device:accelerator:0", [&] { return exp(x); });
  auto z = g.on("/device:cpu:0", [&] { return sum(y); });
  session s{g, options()};
  s.run({{x, vector<float>({1, 2, 3, 4})}}, z);
  EXPECT_EQ(fast->memory().usage().count, 0);
}

TEST_F(on_device, primitives_by_hand_use_no_variable_that_lies_there) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto w = g.on("accelerator", [&] { return variable<float>(g, "w", zeros()); });
  auto const [no, yes] = tagged::switch_(x, x > 0.f);
  auto const [y, which] = tagged::merge(no * 2.f, yes + w);
  session s{g, options()};
  s.run(initializer(g));
  try {
    s.run({{x, tensor(1.f)}}, y);
    FAIL();
  } catch (error const& e) {
    EXPECT_NE(e.message().find("'w' lies in the memory of 'accelerator:0' and would be used in that of the host: "
                               "give the session its device"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace rill
