// Where sessions with devices run the nodes of a step, and devices of a user's own.
#include "rill/run/lanes/place_nodes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/device/thread_stream.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

std::string error_text(auto const& f) {
  try {
    f();
  } catch (error const& e) {
    return e.what();
  }
  return "no error";
}
#define EXPECT_HAS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)

struct placed_session : testing::Test {
  std::shared_ptr<emulated_accelerator> fast = emulated("accelerator:0", {.flops = 1e12, .memory = 1 << 22});
  std::shared_ptr<emulated_accelerator> slow = emulated("accelerator:1", {.flops = 1e9, .memory = 1 << 22});
};

TEST_F(placed_session, runs_what_asks_for_nothing_on_the_fastest_device_and_says_why) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/device:accelerator:1", [&] { return exp(x); });
  auto z = sum(y);
  session s{g, {.devices = {slow, fast}}};
  auto const text = s.explain({{x, vector<float>({1, 2, 3, 4})}}, z, log(x), stages::place);
  EXPECT_EQ(text,
            "place\n"
            "  exp  /device:accelerator:1  asked for by g.on\n"
            "  sum  /device:accelerator:1  next to its largest input 'exp'\n"
            "  log  /device:accelerator:0  fastest device with a kernel\n");
  EXPECT_FLOAT_EQ(s.run({{x, vector<float>({0, 0, 0, 0})}}, z).item<float>(), 4);
}

TEST_F(placed_session, lets_a_chooser_of_ones_own_decide) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = exp(x);
  place_chooser const last = [](auto candidates, auto, auto const&) {
    return place_choice{candidates.back(), place_reason::fastest};
  };
  session s{g, {.devices = {fast, slow}, .placement = last}};
  EXPECT_HAS(s.explain({{x, vector<float>({1, 2, 3, 4})}}, y, stages::place), "exp  /device:accelerator:1");
}

TEST_F(placed_session, refuses_a_wish_for_a_device_that_is_not_there) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/device:gpu:0", [&] { return exp(x); });
  for (std::vector<std::shared_ptr<device>> const& devices : {std::vector<std::shared_ptr<device>>{}, {fast}}) {
    auto const run = [&](bool soft) {
      session s{g, {.devices = devices, .soft_placement = soft}};
      return s.run({{x, vector<float>({0, 0, 0, 0})}}, y).to(host).at<float>(1);
    };
    auto const refused = error_text([&] { run(false); });
    EXPECT_HAS(refused,
               "node 'exp': it asks for '/device:gpu:0', but no device is of the type 'gpu': there are /device:cpu:0");
    EXPECT_HAS(refused, "or permit soft placement");
    EXPECT_EQ(run(true), 1);
  }
}

TEST_F(placed_session, refuses_such_a_wish_of_a_node_that_has_no_place) {
  graph g;
  auto x = placeholder<float>(g, "x");
  auto const wished = [&](auto const& f) { return g.on("accelerator:7", f); };
  std::vector<value> const all = {
      wished([&] { return value(constant(g, 1.f)); }) + value(x),
      wished([&] { return value(exp(constant(g, 1.f))); }) + value(x),  // is folded
      cond(
          x > 0.f, [&] { return wished([&] { return exp(x); }); }, [&] { return x; }),
      std::get<1>(while_loop([](auto i, auto) { return i < 0; },
                             [&](auto i, auto v) { return std::tuple(i + 1, wished([&] { return exp(v); })); },
                             constant(g, 0), x))};
  std::vector<session_options> const both = {{}, {.devices = {fast, slow}}};
  for (auto const& y : all)
    for (auto o : both) {
      auto const run = [&] { session(g, o).run({{x, tensor(-1.f)}}, std::vector{y}); };
      auto const refused = error_text(run);
      EXPECT_HAS(refused, ": it asks for '/device:accelerator:7', but no device");
      EXPECT_HAS(refused, ": there are /device:cpu:0");
      o.soft_placement = true;
      EXPECT_EQ(error_text(run), "no error");
    }
}

TEST_F(placed_session, refuses_wishes_among_primitives_that_the_host_can_not_fulfill) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [no, yes] = tagged::switch_(x, x > 0.f);
  auto const merged = [&](char const* wish) {
    return value(std::get<0>(tagged::merge(g.on(wish, [&] { return no * 2.f; }), yes + 1.f)));
  };
  auto const run = [&](value const& y, bool soft = false) {
    session s{g, {.devices = {fast}, .soft_placement = soft}};
    return s.run({{x, tensor(1.f)}}, std::vector{y})[0].item<float>();
  };
  EXPECT_HAS(error_text([&] { run(merged("gpu:99")); }),
             "it asks for '/device:gpu:99', but no device is of the type 'gpu'");
  EXPECT_HAS(error_text([&] { run(merged("accelerator:0")); }),
             "it asks for '/device:accelerator:0', and stands among primitives of control flow, which the host runs");
  EXPECT_EQ(run(merged("cpu")), 2);
  EXPECT_EQ(run(merged("accelerator:0"), true), 2);
}

TEST_F(placed_session, says_which_wishes_contradict_each_other) {
  graph g;
  auto w = g.on("accelerator:0", [&] { return variable<float, 4>(g, "w", zeros()); });
  auto up =
      g.on("accelerator:1", [&] { return assign_add(w, as<of<float, 4>>(constant(g, vector<float>({1, 1, 1, 1})))); });
  session s{g, {.devices = {fast, slow}, .soft_placement = true}};
  auto const text = error_text([&] { s.run(up); });
  EXPECT_HAS(text, "must lie together, and ask for different devices: 'w' asks for '/device:accelerator:0'");
}

TEST_F(placed_session, keeps_a_variable_where_it_has_its_value) {
  graph g;
  auto w = variable<float, 4>(g, "w", zeros());
  auto put =
      g.on("accelerator:1", [&] { return assign(w, as<of<float, 4>>(constant(g, vector<float>({1, 1, 1, 1})))); });
  session s{g, {.devices = {fast, slow}}};
  s.run(put);
  auto const y = sum(w + 1.f);
  EXPECT_HAS(s.explain({}, y, stages::place), "w    /device:accelerator:1  the variable lives there");
  EXPECT_EQ(s.run(y).item<float>(), 8);
}

TEST_F(placed_session, places_nodes_of_bodies_one_by_one) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto run = [&](session_options o) {
    session s{g, std::move(o)};
    auto const once = [&](auto const& y) { return s.run({{x, vector<float>({1, 2, 3, 4})}}, y).to(host); };
    auto const [steps, last] = while_loop([](auto i, auto) { return i < 5; },
                                          [&](auto i, auto v) {
                                            auto w = g.on("accelerator:1", [&] { return tanh(v * 0.5f); });
                                            return std::tuple(i + 1, g.on("accelerator:0", [&] { return w + x; }));
                                          },
                                          constant(g, 0), x);
    return once(last);
  };
  auto const before = std::pair(fast->memory().usage().total, slow->memory().usage().total);
  auto const there = run({.devices = {fast, slow}});
  EXPECT_GE(fast->memory().usage().total, before.first + 5);
  EXPECT_GE(slow->memory().usage().total, before.second + 5);
  EXPECT_TRUE(same_bits(there, run({.soft_placement = true})));
}

TEST_F(placed_session, places_nodes_of_branches_and_functions_one_by_one) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto const both = [&](auto v) {
    auto w = g.on("accelerator:1", [&] { return tanh(v * 0.5f); });
    return g.on("accelerator:0", [&] { return w + 1.f; });
  };
  auto const f = function<"f", of<float, 4>>(g, both);
  auto y = cond(sum(x) > 0.f, [&] { return both(x); }, [&] { return x; });
  auto z = f(y);
  session here{g, {.soft_placement = true}};
  for (auto how : {execution::sequential, execution::automatic, execution::parallel}) {
    session s{g, {.threads = 2, .passes = {.functions = false}, .execution = how, .devices = {fast, slow}}};
    auto const used = [&] { return std::pair(fast->memory().usage().total, slow->memory().usage().total); };
    auto const before = used();
    auto const feed = vector<float>({1, 2, 3, 4});
    EXPECT_TRUE(same_bits(s.run({{x, feed}}, z), here.run({{x, feed}}, z)));
    EXPECT_GT(used().first, before.first);
    EXPECT_GT(used().second, before.second);
    auto const text = s.explain({{x, feed}}, z, stages::place | stages::kernels | stages::bodies);
    EXPECT_HAS(text, "tanh  ");
    EXPECT_HAS(text, "/device:accelerator:1  asked for by g.on");
    EXPECT_HAS(text, "/device:accelerator:0  asked for by g.on");
    EXPECT_HAS(text, "function 'f' of ");
    EXPECT_HAS(text, "copies 16 bytes to /device:accelerator:1");
    EXPECT_HAS(text, "copies 16 bytes from /device:accelerator:0");
    EXPECT_HAS(text, "on /device:accelerator:1");
  }
}

TEST_F(placed_session, says_what_is_copied_and_where_it_runs) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("accelerator:1", [&] { return exp(x); });
  auto z = g.on("cpu:0", [&] { return sum(y); });
  session s{g, {.devices = {fast, slow}}};
  auto const feed = vector<float>({1, 2, 3, 4});
  EXPECT_EQ(s.explain({{x, feed}}, z, stages::kernels),
            "kernels\n"
            "  0  x/copy_in     copy_in        (x)             -> float32[4]  "
            "copies 16 bytes to /device:accelerator:1, may wait, allocates its outputs\n"
            "  1  exp           device_region  (x/copy_in)     -> float32[4]  "
            "on /device:accelerator:1, may wait, allocates its outputs\n"
            "  2  exp/copy_out  copy_out       (exp)           -> float32[4]  "
            "copies 16 bytes from /device:accelerator:1, may wait\n"
            "  3  sum           sum            (exp/copy_out)  -> float32[]\n");
  EXPECT_HAS(s.explain({{x, feed}}, z), "devices: 1 regions, 2 copies of 32 bytes");
}

TEST(peers, pass_values_on_without_the_host) {
  auto const device = [](char const* name) { return emulated(name, {.memory = 1 << 22, .peers = true}); };
  auto const one = device("accelerator:0"), two = device("accelerator:1");
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto w = g.on("accelerator:0", [&] { return variable(constant(g, vector<float>({1, 0, 1, 0})), "w"); });
  auto y = g.on("accelerator:0", [&] { return exp(x); });
  auto z = g.on("accelerator:1", [&] { return sum(y * w) + sum(y); });
  auto const feed = vector<float>({1, 2, 3, 4});
  session s{g, {.devices = {one, two}}};
  s.run(initializer(g));
  auto const text = s.explain({{x, feed}}, z, stages::kernels);
  EXPECT_HAS(text, "exp/copy_between  copy_between   (exp)");
  EXPECT_HAS(text,
             "copies 16 bytes from /device:accelerator:0 to /device:accelerator:1, may wait, allocates its outputs");
  EXPECT_HAS(text, "w/copy_between");
  EXPECT_EQ(text.find("copy_out"), text.npos) << text;
  session here{g, {.soft_placement = true}};
  here.run(initializer(g));
  EXPECT_TRUE(same_bits(s.run({{x, feed}}, z), here.run({{x, feed}}, z)));
  two->lose_at(two->copies_in(), 1);
  EXPECT_HAS(error_text([&] { s.run({{x, feed}}, z); }), "the device 'accelerator:1' was lost");
  two->recover();
  EXPECT_TRUE(same_bits(s.run({{x, feed}}, z), here.run({{x, feed}}, z)));
  tensor const there = feed.to(one);
  one->lose();
  EXPECT_HAS(error_text([&] { there.to(two); }), "the device 'accelerator:0' was lost");
  EXPECT_HAS(error_text([&] { s.run({{x, feed}}, z); }), "the device 'accelerator:0' was lost");
  one->recover();
  EXPECT_TRUE(same_bits(there.to(two), feed));
}

TEST_F(placed_session, reads_a_first_value_in_a_body_where_the_step_puts_it) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto w = variable<float, 4>(g, "w");
  auto put = assign(w, g.on("accelerator:1", [&] { return exp(x); }));  // so that it lies there
  auto last = g.after({operation(put)}, [&] {
    return std::get<1>(while_loop([](auto i, auto) { return i < 3; },
                                  [&](auto i, auto v) { return std::tuple(i + 1, tanh(v + w)); }, constant(g, 0), x));
  });
  auto const feed = vector<float>({1, 2, 3, 4});
  session here{g, {.soft_placement = true}};
  session s{g, {.devices = {fast, slow}}};
  EXPECT_TRUE(same_bits(s.run({{x, feed}}, last), here.run({{x, feed}}, last)));
  EXPECT_EQ(s.state().find_variable("w")->read().device(), "accelerator:1");
}

// A device of a user's own: two kernels on a thread, and the host's memory.
class adder final : public device {
 public:
  adder() { table_.add(definition<ops::add_op>(), make_add); }
  std::string const& name() const noexcept override { return name_; }
  allocator& memory() noexcept override { return memory_; }
  kernel_table const* kernels() const noexcept override { return &table_; }
  thread_stream& compute() noexcept override { return stream_; }
  static inline int calls = 0;

 private:
  static kernel make_add(kernel_request const& r) {
    auto const n = elements(r.outputs[0].shape());
    if (r.inputs[0] != r.inputs[1]) throw error(code::unimplemented, "an adder adds arrays of one type");
    return kernel([n](kernel_call const& c) {
      ++calls;
      auto const *a = static_cast<float const*>(c.in(0)), *b = static_cast<float const*>(c.in(1));
      for (std::int64_t i = 0; i < n; ++i) static_cast<float*>(c.out(0))[i] = a[i] + b[i];
    });
  }
  std::string name_ = "adder:0";
  host_memory memory_;
  kernel_table table_;
  thread_stream stream_;
};

TEST_F(placed_session, runs_the_kernels_of_a_device_of_ones_own) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto [a, y] = g.on("adder", [&] {
    auto twice = x + x;
    return std::pair(twice, exp(twice) + x);
  });
  session s{g, {.devices = {std::make_shared<adder>()}, .soft_placement = true}};
  adder::calls = 0;
  auto const got = s.run({{x, vector<float>({1, 2, 3, 4})}}, y);
  EXPECT_EQ(adder::calls, 2);
  EXPECT_TRUE(same_bits(got, session(g, {.soft_placement = true}).run({{x, vector<float>({1, 2, 3, 4})}}, y)));
}

TEST_F(placed_session, says_which_kernel_a_device_lacks) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("adder:0", [&] { return exp(x); });
  session_options o{.devices = {std::make_shared<adder>()}};
  auto const run = [&] { return session(g, o).run({{x, vector<float>({0, 0, 0, 0})}}, y).at<float>(0); };
  EXPECT_HAS(error_text(run), "'/device:adder:0'");
  o.soft_placement = true;
  EXPECT_EQ(run(), 1);
  EXPECT_HAS(session(g, o).explain({{x, vector<float>({0, 0, 0, 0})}}, y, stages::place),
             "exp  /device:cpu:0  asked for '/device:adder:0', which has no kernel for it, soft placement");
}

// An accelerator that has kernels of some operations alone.
class partial final : public device {
 public:
  partial() {
    table_.add(definition<ops::assign_op>(), definition<ops::assign_op>().cpu);
    table_.add(definition<ops::add_op>(), definition<ops::add_op>().cpu);
  }
  std::string const& name() const noexcept override { return all_->name(); }
  allocator& memory() noexcept override { return all_->memory(); }
  kernel_table const* kernels() const noexcept override { return &table_; }
  stream& compute() noexcept override { return all_->compute(); }

 private:
  std::shared_ptr<emulated_accelerator> all_ = emulated("partial:0");
  kernel_table table_;
};

TEST_F(placed_session, puts_a_variable_where_all_that_take_it_by_reference_can_run) {
  graph g;
  auto rows = variable<float, 4, 2>(g, "rows", zeros());
  auto other = variable<float, 4, 2>(g, "other", zeros());
  EXPECT_EQ(other.name(), "other");
  auto y = gather(rows, constant(g, 1));  // that device has no kernel for it
  place_chooser const last = [](auto candidates, auto, auto const&) {
    return place_choice{candidates.back(), place_reason::fastest};
  };
  session s{g, {.devices = {std::make_shared<partial>()}, .placement = last}};
  auto const text = s.explain({}, initializer(g), stages::place);
  EXPECT_HAS(text, "  rows          /device:cpu:0");
  EXPECT_HAS(text, "  other         /device:partial:0");
  s.run(initializer(g));
  EXPECT_EQ(s.run(y).at<float>(0), 0);
}

TEST_F(placed_session, says_what_a_device_of_ones_own_threw) {
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("adder:0", [&] { return value(x) + constant(g, 1.f); });
  session s{g, {.devices = {std::make_shared<adder>()}}};
  EXPECT_HAS(error_text([&] { s.run({{x, vector<float>({1, 2, 3, 4})}}, y); }), "an adder adds arrays of one type");
}

struct thrice_op {
  static constexpr std::string_view name = "thrice", doc = "three times x; the host has no kernel for it";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
};

// A device that alone has a kernel of an operation, and of whose speed nothing is known.
class tripler final : public device {
 public:
  tripler() { table_.add(definition<thrice_op>(), make); }
  std::string const& name() const noexcept override { return name_; }
  allocator& memory() noexcept override { return memory_; }
  kernel_table const* kernels() const noexcept override { return &table_; }
  thread_stream& compute() noexcept override { return stream_; }

 private:
  static kernel make(kernel_request const& r) {
    auto const n = elements(r.outputs[0].shape());
    return kernel([n](kernel_call const& c) {
      for (std::int64_t i = 0; i < n; ++i) c.out<float>(0)[i] = 3 * c.in<float>(0)[i];
    });
  }
  std::string name_ = "tripler:0";
  host_memory memory_;
  kernel_table table_;
  thread_stream stream_;
};

TEST_F(placed_session, runs_an_operation_where_it_has_a_kernel_whether_or_not_it_asks_for_that) {
  graph g;
  value const x = placeholder<float, 2>(g, "x"), one = constant<float, 2>(g, {1, 2});
  session s{g, {.devices = {std::make_shared<tripler>()}}};
  for (value const& of : {x, one, exp(x)})
    for (std::string_view wish : {"", "tripler:0"}) {
      value const y = g.on(wish, [&] { return record<thrice_op>(of); });
      auto const text = error_text([&] {
        auto const in = s.run({{x, vector<float>({1, 2})}}, of).to(host);
        EXPECT_EQ(s.run({{x, vector<float>({1, 2})}}, y).to(host).at<float>(1), 3 * in.at<float>(1));
      });
      EXPECT_EQ(text, "no error");
    }
}

TEST_F(placed_session, finds_the_state_of_an_optimizer_beside_its_variable_where_devices_share_the_hosts_memory) {
  graph g;
  auto w = g.on("cpu:1", [&] { return variable<float, 4>(g, "w", zeros()); });
  auto const loss = sum(square(w - 1.f));
  auto const step = momentum{0.25f}.minimize(loss);
  auto const other = g.on("cpu:0", [&] { return adam{0.25f}.minimize(loss); });
  session s{g, {.devices = {cpu(1, 1)}}};
  s.run(initializer(g));
  for (int i = 0; i < 3; ++i) s.run(step), s.run(other);
  EXPECT_HAS(s.explain({}, step, stages::place), "w/momentum     /device:cpu:1  the variable lives there");
  EXPECT_GT(s.run(value(w)).at<float>(0), 0);
}

}  // namespace
}  // namespace rill
