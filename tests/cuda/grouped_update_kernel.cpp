#include "rill/cuda/grouped_update_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "numbers.hpp"
#include "real_nvrtc.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/cuda/map_text.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::expect_same_numbers;

tensor waves(shape const& extents, double step) {
  tensor made(dtype::float32, extents);
  for (std::int64_t i = 0; i < made.elements(); ++i)
    made.mutable_data<float>()[i] = static_cast<float>(std::sin(step * static_cast<double>(i + 1)));
  return made;
}

// Variables, and updates of them by what is fed.
struct recorded_updates {
  graph g{3};
  std::vector<feed> fed = {};
  std::vector<operation> all = {};
  operation start = {};

  variable_value add_variable(shape const& extents) {
    tensor const first = waves(extents, 0.3 * ++count_);
    return variable(constant(g, first), "v" + std::to_string(count_));
  }
  value add_feed(shape const& extents) {
    tensor const t = waves(extents, 0.7 * ++count_);
    fed.emplace_back(placeholder(g, t.type()), t);
    return fed.back().to;
  }
  void shrink_variable(variable_value const& v, value const& x) { all.push_back(operation(assign_sub(v, v * x))); }
  void shrink(shape const& extents, shape const& of_x) { shrink_variable(add_variable(extents), add_feed(of_x)); }
  void shrink(shape const& extents) { shrink(extents, extents); }

 private:
  int count_ = 0;
};

struct grouped_updates : test::on_gpu {
  using recorder = std::function<void(recorded_updates&)>;

  std::shared_ptr<gpu_device> on = gpu(0);

  void TearDown() override {
    on.reset();
    on_gpu::TearDown();
  }

  struct trained {
    std::vector<std::pair<std::string, tensor>> values;
    unsigned long long launches = 0;  // of the last step
  };
  trained train(recorder const& record, char const* where, session_options options, int steps) {
    recorded_updates u;
    u.g.on(where, [&] {
      u.g.gradients_beside([&] {
        record(u);
        u.start = initializer(u.g);
      });
    });
    auto const step = group(u.g, u.all);
    options.threads = 1;
    options.state = std::make_shared<container>();
    session s{u.g, options};
    s.run(u.start);
    trained made;
    for (int i = 0; i < steps; ++i) {
      auto const before = launches();
      s.run(std::span<feed const>(u.fed), step);
      made.launches = launches() - before;
    }
    for (auto const& v : options.state->variables()) made.values.emplace_back(v->name(), v->read().to(host));
    return made;
  }
  // Returns the launches of a step there.
  unsigned long long compare(recorder const& record, int steps = 3) {
    auto const here = train(record, "cpu:0", {}, steps);
    unsigned long long launched = 0;
    for (auto const order : test::thread_orders()) {
      test::set_thread_order(order);
      auto const there = train(record, "gpu:0", {.devices = {on}}, steps);
      launched = there.launches;
      EXPECT_EQ(there.values.size(), here.values.size());
      for (std::size_t i = 0; i < here.values.size(); ++i) {
        EXPECT_EQ(there.values[i].first, here.values[i].first);
        expect_same_numbers(there.values[i].second, here.values[i].second, here.values[i].first);
      }
    }
    return launched;
  }

 private:
  static unsigned long long launches() { return test::on_own_gpu() ? 0 : RILL_EMULATED(rill_emulated_launches)(); }
};
using counted_updates = test::only_emulated<grouped_updates>;

template <class Optimizer> grouped_updates::recorder minimize(Optimizer const& by) {
  return [by](recorded_updates& u) {
    value loss;
    for (shape const& extents : {shape{0}, shape{1}, shape{3}, shape{1000}, shape{}, shape{4, 5}}) {
      value const error = u.add_variable(extents) * u.add_feed(extents) - 0.5f;
      value const part = sum(error * error);
      loss = loss ? loss + part : part;
    }
    u.all = {by.minimize(loss)};
  };
}
TEST_F(grouped_updates, of_optimizers_have_the_hosts_bits) {
  compare(minimize(gradient_descent{.rate = 0.1}));
  compare(minimize(momentum{.rate = 0.1}));
  compare(minimize(adam{.rate = 0.05}));
}

TEST_F(counted_updates, are_one_launch) {
  EXPECT_EQ(compare([](recorded_updates& u) {
              for (shape const& extents : {shape{3}, shape{1}, shape{0}, shape{1000}, shape{256}, shape{20, 30}})
                u.shrink(extents);
            }),
            1u);
}

TEST_F(counted_updates, have_a_launch_for_each_way_in_which_operands_lie) {
  EXPECT_EQ(compare([](recorded_updates& u) {
              u.shrink({3}), u.shrink({7, 2}), u.shrink({1});
              u.shrink({40}, {}), u.shrink({5, 6}, {1});     // by one number
              u.shrink({4, 5}, {5}), u.shrink({2, 3}, {3});  // by strides
            }),
            4u);
}

// A group has at most 48 variables, for it locks them all.
TEST_F(counted_updates, of_many_variables_are_several_launches) {
  EXPECT_EQ(compare(
                [](recorded_updates& u) {
                  for (std::int64_t i = 0; i < 128; ++i) u.shrink({i % 5 + 1});
                },
                2),
            3u);
}

TEST_F(counted_updates, leave_large_variables_alone) {
  EXPECT_EQ(compare([](recorded_updates& u) { u.shrink({3}), u.shrink({(1 << 18) + 1}), u.shrink({4}); }, 1), 2u);
}

TEST_F(grouped_updates, of_variables_that_others_read_see_what_the_step_found) {
  compare([](recorded_updates& u) {
    auto const a = u.add_variable({30}), b = u.add_variable({30});
    for (auto const& [v, x] : {std::pair(a, b), std::pair(b, a)}) u.all.push_back(operation(assign_sub(v, v - x)));
  });
}

TEST_F(grouped_updates, that_wait_for_others_come_behind_them) {
  compare([](recorded_updates& u) {
    auto const a = u.add_variable({30}), b = u.add_variable({30}), c = u.add_variable({30});
    u.shrink_variable(a, u.add_feed({30}));
    value const now = u.g.after({u.all[0]}, [&] { return value(read(a)); });
    u.shrink_variable(b, now), u.shrink_variable(c, now);
  });
}

TEST_F(grouped_updates, are_seen_in_a_sessions_explanation) {
  recorded_updates u;
  u.g.on("gpu:0", [&] { u.shrink({3}), u.shrink({4}); });
  session s{u.g, {.threads = 1, .devices = {on}}};
  auto const said = s.explain(std::span<feed const>(u.fed), group(u.g, u.all), stages::all);
  EXPECT_NE(said.find("group updates: in one kernel: assign_sub"), std::string::npos) << said;
}

// Variables of ones that a step of `together` increases by 1 as a group, and a step of `apart` in pairs.
struct shared_updates {
  graph g;
  std::vector<feed> fed = {};
  operation start = {}, together = {}, apart = {};

  shared_updates() {
    std::vector<operation> in_group, in_pairs;
    g.on("gpu:0", [&] {
      g.hogwild([&] {
        std::vector<variable_value> v;
        for (int i = 0; i < 6; ++i) v.push_back(variable(constant(g, ones()), "v" + std::to_string(i)));
        for (auto const& each : v) {
          value const x = add_feed();
          in_group.push_back(operation(assign_add(each, x * x)));
        }
        for (std::size_t i = 0; i < 3; ++i) {
          value const x = add_feed(), y = x * x;
          in_pairs.push_back(operation(assign_add(v[5 - i], y)));
          in_pairs.push_back(operation(assign_add(v[i], y * x)));
        }
        start = initializer(g);
      });
    });
    together = group(g, in_group), apart = group(g, in_pairs);
  }

 private:
  static tensor ones() { return tensor::copy<float>(std::vector<float>(50, 1.f), shape{50}); }
  value add_feed() { return fed.emplace_back(placeholder(g, ones().type()), ones()).to; }
};

// Locks are taken in one order: by groups, by updates that are alone, and by the host.
TEST_F(grouped_updates, share_variables_with_others_that_lock_them) {
  constexpr int steps = 60;
  shared_updates u;
  session_options const shared{.threads = 1, .state = std::make_shared<container>(), .devices = {on}};
  session a{u.g, shared}, b{u.g, shared};
  a.run(u.start);
  auto const run = [&](session& of, operation const& step) {
    for (int i = 0; i < steps; ++i) of.run(std::span<feed const>(u.fed), step);
  };
  auto first = std::async(std::launch::async, [&] { run(a, u.together); }),
       second = std::async(std::launch::async, [&] { run(b, u.apart); });
  auto all = shared.state->variables();
  std::sort(all.begin(), all.end());
  for (int i = 0; i < steps; ++i) {
    std::vector<std::unique_ptr<variable_state::writer>> locked;
    for (auto const& v : all) locked.push_back(std::make_unique<variable_state::writer>(*v));
  }
  first.get(), second.get();
  for (auto const& v : all) EXPECT_EQ(v->read().to(host).at<float>(49), 1 + 2 * steps) << v->name();
}

// Every kind of text that the tests above run, for each kind of card.
struct grouped_updates_in_cuda : test::on_real_nvrtc {};
TEST_F(grouped_updates_in_cuda, are_compiled_by_nvrtc) {
  auto const* const mul = definition<ops::mul_op>().elementwise;
  auto const* const sub = definition<ops::sub_op>().elementwise;
  for (auto const element : {dtype::float32, dtype::float64, dtype::bfloat16}) {
    program p;  // m = m * rate; v = v - m * g
    p.inputs = {element, element, element, element};
    p.instructions = {{mul, {0, 3}, element}, {mul, {4, 2}, element}, {sub, {1, 5}, element}};
    p.outputs = {4, 6};
    add_text(cuda::update_text(p, collapse({{9}, {9}, {9}, {}}, {9}), 93), "grouped update", element);
  }
  expect_compiled();
}

}  // namespace
}  // namespace rill
