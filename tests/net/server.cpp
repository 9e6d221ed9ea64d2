#include "rill/net/server.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/sentence.hpp"
#include "net/names.hpp"
#include "net/served.hpp"
#include "rill/net.hpp"
#include "rill/net/asio.hpp"
#include "rill/net/peer.hpp"
#include "rill/ops/list/registry.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;
using test::served_cluster;

TEST(server, a_client_runs_a_step_that_goes_over_two_tasks) {
  served_cluster c({{"worker", 2}});
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const y = g.on("/job:worker/task:1", [&] { return x * 2.f; });
  auto const z = g.on("/job:worker/task:0", [&] { return y + 1.f; });
  session s{g, connect(c.address(0), test::quick())};
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(same_bits(s.run({{x, vector<float>({1, 2, 3})}}, z), vector<float>({3, 5, 7})));
}

// The sockets of this process that programs would inherit which it starts.
std::vector<std::string> inherited_sockets() {
  std::vector<std::string> all;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the directory's own descriptor
    auto const to = std::filesystem::read_symlink(entry, gone).string();
    auto const file = std::stoi(entry.path().filename());
    if (to.starts_with("socket:") && (::fcntl(file, F_GETFD) & FD_CLOEXEC) == 0) all.push_back(to);
  }
  return all;
}

TEST(server, keeps_its_connections_out_of_programs_that_are_started) {
  auto const before = inherited_sockets();
  for (bool const by_memory : {true, false}) {
    auto options = test::quick();
    options.shared_memory = by_memory;
    served_cluster c({{"worker", 2}}, served_cluster::with(options));
    server by_tcp(cluster::parse("worker=127.0.0.1:0", "worker:0"), served_cluster::with(options));
    graph g;
    auto const x = placeholder<float>(g, "x");
    auto const y = g.on("/job:worker/task:0", [&] { return x + 1.f; });
    for (auto const& at : {c.address(0), by_tcp.cluster().at(by_tcp.task()).text()}) {
      session s{g, connect(at, options)};
      EXPECT_EQ(float(s.run({{x, 1.f}}, y)), 2.f);
      EXPECT_EQ(inherited_sockets(), before);
    }
    session s{g, c[1].target()};
    EXPECT_EQ(float(s.run({{x, 1.f}}, y)), 2.f);
    EXPECT_EQ(inherited_sockets(), before);
  }
}

// Two tasks, each with a device of its own, and a client of theirs.
class servers_with_devices : public testing::Test {
 public:
  static constexpr std::int64_t rows = 40;  // a value of it is longer than what lies in the frame of its message

  servers_with_devices() {
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto options = served_cluster::with(test::quick());
      options.devices = {devices[i]};
      auto const me = "worker:" + std::to_string(i);
      servers.push_back(std::make_unique<server>(cluster::parse(jobs(), me), options));
    }
  }
  std::string jobs() const { return "worker=" + folder.socket("a") + "," + folder.socket("b"); }
  target client() const { return connect(folder.socket("a"), test::quick()); }
  template <class F> auto there(F const& f) { return g.on("/job:worker/task:1/device:gpu:0", f); }
  static tensor_of<of<float, rows, rows>> numbers(float first) {
    tensor t(dtype::float32, shape{rows, rows});
    for (std::int64_t i = 0; i < t.elements(); ++i) t.mutable_data<float>()[i] = first + static_cast<float>(i);
    return tensor_of<of<float, rows, rows>>(t);
  }
  tensor numbers_on_the_clients_device(float first) { return numbers(first).to(own); }
  // Servers keep arenas for their next step. What the threads of a device hold is given back a moment later.
  void nothing_stays() {
    servers.clear();
    for (auto const& d : devices) {
      for (int i = 0; i < 6000 && d->memory().usage().count != 0; ++i) std::this_thread::sleep_for(10ms);
      EXPECT_EQ(d->memory().usage().count, 0);
    }
  }

  test::socket_folder const folder;
  std::vector<std::shared_ptr<emulated_accelerator>> const devices = {emulated("gpu:0", {.memory = 1 << 20}),
                                                                      emulated("gpu:0", {.memory = 1 << 20})};
  std::shared_ptr<emulated_accelerator> const own = emulated("gpu:0", {.memory = 1 << 20});
  std::vector<std::unique_ptr<server>> servers;
  graph g;
  expr<of<float>> const k = placeholder<float>(g, "k");
  expr<of<float, rows, rows>> const x = placeholder<float, rows, rows>(g, "x");
};

TEST_F(servers_with_devices, hand_over_what_is_fetched_from_there) {
  auto const [small, large] = there([&] { return std::pair(k * 2.f, x + k); });
  auto const twice = there([&] { return large + large; });
  auto const total = there([&] { return sum(value(large)); });
  for (auto const& from : {client(), servers[0]->target()}) {
    session s{g, from};
    auto const all = outputs(small, large, twice, total);
    auto const check = [&](auto const& results) {
      auto const& [a, b, c, d] = results;
      EXPECT_EQ(float(a), 6.f);
      EXPECT_TRUE(same_bits(b, numbers(4)));
      EXPECT_EQ(c.device(), "host");
      EXPECT_EQ(c.template at<float>(1, 0), 8.f + 2 * rows);
      EXPECT_EQ(d.device(), "host");
    };
    std::vector<feed> const fed{{k, 3.f}, {x, numbers(1)}};
    for (int i = 0; i < 3; ++i) check(s.run(fed, all));
    std::promise<void> ended;
    s.start(fed, all, [&](auto results) {
      EXPECT_TRUE(results);
      if (results) check(*results);
      ended.set_value();
    });
    ended.get_future().wait();
    auto step = s.prepare(inputs(k, x), all);
    check(step(tensor_of<of<float>>(tensor(3.f)), numbers(1)));
  }
  nothing_stays();
}

TEST_F(servers_with_devices, leave_a_value_on_a_device_of_the_sessions_own_process) {
  auto const y = there([&] { return x + k; });
  session s{g, servers[1]->target()};
  auto const here = s.run({{k, 3.f}, {x, numbers(1)}}, y);
  EXPECT_EQ(here.device(), "gpu:0");
  EXPECT_TRUE(same_bits(here, numbers(4)));
}

TEST_F(servers_with_devices, take_what_lies_on_a_device_of_the_client) {
  auto const y = g.on("/job:worker/task:1", [&] { return x + k; });
  auto const z = there([&] { return x + k; });
  session s{g, client()};
  auto const fed = tensor_of<of<float, rows, rows>>(numbers_on_the_clients_device(1));
  ASSERT_EQ(fed.device(), "gpu:0");
  for (auto const& each : {y, z}) EXPECT_TRUE(same_bits(s.run({{k, 3.f}, {x, fed}}, each), numbers(4)));
  EXPECT_TRUE(same_bits(s.run({{k, tensor(3.f).to(own)}, {x, fed}}, x), numbers(1))) << "it is fed and fetched";
  auto step = s.prepare(inputs(x, k), outputs(y));
  EXPECT_TRUE(same_bits(step(fed, tensor_of<of<float>>(tensor(3.f).to(own))), numbers(4)));
}

TEST_F(servers_with_devices, have_variables_there_that_are_read_and_set) {
  auto const v = there([&] { return variable<float, rows, rows>(g, "v", zeros()); });
  auto const grown = there([&] { return assign_add(v, x); });
  for (auto const& from : {client(), servers[1]->target()}) {
    session s{g, from};
    s.run(initializer(g));
    s.set(variable_value(v), numbers_on_the_clients_device(5));
    EXPECT_TRUE(same_bits(s.run(v), numbers(5)));
    EXPECT_EQ(s.get(v).device(), "host");
    EXPECT_TRUE(same_bits(s.get(v), numbers(5)));
    s.run({{x, numbers(1)}}, operation(grown));
    EXPECT_EQ(tensor(s.get(v)).at<float>(0, 1), 6.f + 2.f);
  }
}

TEST_F(servers_with_devices, send_each_other_what_lies_there) {
  auto const v = there([&] { return variable<float, rows, rows>(g, "v", zeros()); });
  auto const here = g.on("/job:worker/task:0/device:gpu:0", [&] { return x * k; });
  auto const y = there([&] { return here + v; });
  auto const z = g.on("/job:worker/task:0", [&] { return y + v; });
  session s{g, client()};
  s.run(initializer(g));
  s.set(v, numbers(0));
  for (int i = 0; i < 3; ++i) {
    std::vector<tensor> const all = s.run({{k, 2.f}, {x, numbers(1)}}, std::vector<value>{here, y, z});
    EXPECT_EQ(all[0].at<float>(0, 1), 4.f);
    EXPECT_EQ(all[1].at<float>(0, 1), 5.f);
    EXPECT_EQ(all[2].at<float>(0, 1), 6.f);
  }
}

TEST(server, variables_are_trained_where_they_lie) {
  auto const train = [](auto&& make_session) {
    graph g(7);
    auto const x = placeholder<float, 4, 3>(g, "x");
    auto w = g.on("/job:ps/task:0", [&] { return variable<float, 3, 2>(g, "w", glorot()); });
    auto u = g.on("/job:ps/task:1", [&] { return variable<float, 2, 1>(g, "u", glorot()); });
    auto const h = g.on("/job:worker/task:0", [&] { return tanh(matmul(x, w)); });
    auto const loss = g.on("/job:worker/task:1", [&] { return mean(square(matmul(h, u) - 1.f)); });
    auto const step = adam{.rate = 0.01f}.minimize(loss);
    auto s = make_session(g);
    s->run(initializer(g));
    tensor_of<of<float, 4, 3>> fed(tensor::adopt(std::vector<float>(12, 0.5f), shape{4, 3}));
    float last = 0;
    for (int i = 0; i < 5; ++i) last = std::get<0>(std::tuple(s->run({{x, fed}}, loss, step)));
    return last;
  };
  served_cluster c({{"worker", 2}, {"ps", 2}});
  local_cluster one({{"worker", 2}, {"ps", 2}}, [](auto const&) { return task_options{.threads = 1}; });
  auto const here = train([&](graph& g) { return std::make_unique<session>(g, one.target()); });
  EXPECT_EQ(train([&](graph& g) { return std::make_unique<session>(g, c[0].target()); }), here);
  EXPECT_TRUE(c.at("/job:ps/task:0").state().find_variable("w")->initialized());
  EXPECT_FALSE(c.at("/job:ps/task:1").state().find_variable("w"));
}

TEST(server, what_only_a_branch_reads_stays_where_it_is_if_the_branch_is_not_taken) {
  auto options = test::quick();
  options.report_after = 1h;  // that a step takes long would be a message
  served_cluster c({{"worker", 2}}, served_cluster::with(options));
  graph g;
  constexpr std::int64_t n = 1000000;
  auto const taken = placeholder<bool>(g, "taken");
  auto const v = g.on("/job:worker/task:1", [&] { return variable<float, n>(g, "v", zeros()); });
  auto const y =
      cond(taken, [&] { return g.on("/job:worker/task:0", [&] { return sum(v); }); }, [&] { return constant(g, 1.f); });
  session s{g, c[0].target()};
  s.run(initializer(g));
  auto const sent = [&](bool which) {
    s.run({{taken, which}}, y);  // compiles
    auto const before = c[0].traffic(), there = c[1].traffic();
    EXPECT_EQ(float(s.run({{taken, which}}, y)), which ? 0.f : 1.f);
    auto const after = c[0].traffic(), at_end = c[1].traffic();
    return std::pair(after.messages_sent + at_end.messages_sent - before.messages_sent - there.messages_sent,
                     after.bytes_received + at_end.bytes_received - before.bytes_received - there.bytes_received);
  };  // what is sent counts when the system has taken it, which the receiver may be ahead of
  auto const [few, small] = sent(false);
  EXPECT_EQ(few, 2u) << "the run of the other task, with the predicate, and its end";
  EXPECT_LT(small, 1000u);
  auto const [more, large] = sent(true);
  EXPECT_EQ(more, 4u) << "the receiver also asks for the value, and gets it";
  EXPECT_GT(large, n * sizeof(float));
}

TEST(server, a_loop_that_only_sends_keeps_to_the_pace_of_its_receiver) {
  served_cluster c({{"worker", 2}});
  constexpr int n = 400, ahead = 5;
  graph g;
  auto q = g.on("/job:worker/task:1", [&] { return fifo_queue<of<float>>(g, {.capacity = n}, "pace"); });
  auto const one = placeholder<float>(g, "one");
  auto const put = q.enqueue(one);
  auto const x = placeholder<float, 1000>(g, "x");  // its values are pushed
  auto const loop = while_loop([&](auto k, auto) { return k < n; },
                               [&](auto k, auto total) {
                                 auto made = g.on("/job:worker/task:0", [&] { return x * cast<float>(k); });
                                 auto next =
                                     g.on("/job:worker/task:1", [&] { return total + sum(made) * q.dequeue(); });
                                 return std::tuple(k + 1, next);
                               },
                               constant(g, 0), constant(g, 0.f), parallel_iterations(ahead));
  session s{g, c[0].target()};
  s.run({{one, 1.f}}, put);
  std::promise<float> done;
  auto const before = c[0].traffic().messages_sent;
  s.start({{x, tensor::adopt(std::vector<float>(1000, 1.f), shape{1000})}}, std::get<1>(loop),
          [&](auto const& r) { done.set_value(r ? float(*r) : -1.f); });
  std::this_thread::sleep_for(200ms);  // it could run far ahead
  EXPECT_LT(c[0].traffic().messages_sent - before, 40u) << "of " << n << " values";
  for (int k = 1; k < n; ++k) s.run({{one, 1.f}}, put);
  EXPECT_EQ(done.get_future().get(), 1000.f * n * (n - 1) / 2);
}

TEST(server, large_tensors_and_strings_come_whole) {
  served_cluster c({{"worker", 3}});
  graph g;
  auto const x = placeholder<float, unknown>(g, "x");
  auto const names = placeholder<std::string, unknown>(g, "names");
  auto const a = g.on("/job:worker/task:1", [&] { return x + 1.f; });
  auto const b = g.on("/job:worker/task:2", [&] { return a * 2.f; });
  auto const there = g.on("/job:worker/task:1", [&] { return identity(names); });
  session s{g, c[0].target()};
  std::vector<float> numbers(3000000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1000);
  auto const fed = tensor::adopt(numbers, shape{3000000});
  std::vector<std::string> words{"", "one", std::string(300000, 'x')};
  auto const [r, n] = s.run({{x, fed}, {names, tensor::adopt(words, shape{3})}}, b, there);
  for (std::size_t i = 0; i < numbers.size(); i += 997) ASSERT_EQ(r.values()[i], (numbers[i] + 1) * 2);
  EXPECT_EQ(n.values()[2], words[2]);
}

TEST(server, listens_at_addresses_of_ipv6) {
  rill::cluster c{.jobs = {{.name = "worker", .addresses = {"[::1]:0"}}},
                  .task = device_name::parse("/job:worker/task:0")};
  std::unique_ptr<server> s;
  try {
    s = std::make_unique<server>(c, served_cluster::with(test::quick()));
  } catch (error const& e) {
    GTEST_SKIP() << e.message();  // this machine has none
  }
  auto options = test::quick();
  options.shared_memory = false;
  graph g;
  auto const x = placeholder<float>(g, "x");
  session run{g, connect(s->cluster().jobs[0].addresses[0], options)};
  EXPECT_EQ(float(run.run({{x, 3.f}}, x + 1.f)), 4);
}

TEST(server, an_error_names_node_and_task) {
  served_cluster c({{"worker", 2}});
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const bad = g.on("/job:worker/task:1", [&] { return check_numerics(x, "it is bad"); });
  session s{g, c[0].target()};
  auto const e = error_of([&] { s.run({{x, std::numeric_limits<float>::infinity()}}, bad); });
  EXPECT_NE(e.message().find("/job:worker/task:1"), std::string::npos) << e.what();
  EXPECT_NE(e.message().find("it is bad"), std::string::npos) << e.what();
  EXPECT_EQ(e.node(), bad.origin().name);
  EXPECT_EQ(float(s.run({{x, 1.f}}, bad)), 1.f);
}

TEST(server, of_failures_on_two_tasks_at_once_one_is_thrown_as_it_was) {
  served_cluster c({{"worker", 3}});
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const one = g.on("/job:worker/task:1", [&] { return check_numerics(x, "one is bad"); });
  auto const two = g.on("/job:worker/task:2", [&] { return check_numerics(x, "two is bad"); });
  auto const both = g.on("/job:worker/task:0", [&] { return one + two; });  // fails because of them
  session s{g, c[0].target()};
  for (int i = 0; i < 100; ++i) {
    auto const e = error_of([&] { s.run({{x, std::numeric_limits<float>::infinity()}}, one, two, both); });
    bool const is_first = e.message().find("one is bad") != std::string::npos;
    EXPECT_NE(e.message().find(is_first ? "one is bad" : "two is bad"), std::string::npos) << e.what();
    EXPECT_NE(e.message().find(is_first ? "/job:worker/task:1" : "/job:worker/task:2"), std::string::npos) << e.what();
    EXPECT_EQ(e.node(), (is_first ? one : two).origin().name);
  }
  EXPECT_EQ(float(s.run({{x, 1.f}}, both)), 2.f);
}

TEST(server, many_steps_of_several_sessions_and_threads_are_in_flight_at_once) {
  auto options = test::quick();
  options.report_after = 1h;  // that steps wait is no news
  served_cluster c({{"worker", 2}, {"ps", 1}}, served_cluster::with(options));
  constexpr int n = 100;
  struct model {
    graph g;
    expr<of<float>> x = placeholder<float>(g, "x");
    queue<of<float>> q = fifo_queue<of<float>>(g, {.capacity = 1000}, "q");
    expr<of<float>> there = g.on("/job:worker/task:1", [&] { return x * 2.f; });
    expr<of<float>> y = g.on("/job:ps", [&] { return there + 1.f; });
    operation put = g.on("/job:ps", [&] { return q.enqueue(x); });
    expr<of<float>> taken = g.on("/job:worker/task:1", [&] { return g.on("/job:ps", [&] { return dequeue(q); }) + x; });
  };
  auto const work = [&](target on) {
    std::mutex mutex;  // outlives the session, whose end waits for the last call of `done`
    float sum = 0;
    std::promise<void> all;
    int left = n;
    model m;
    session s{m.g, std::move(on)};
    for (int i = 0; i < n; ++i)  // they wait at the queue, all at once
      s.start({{m.x, 1.f}}, m.taken, [&](auto const& r) {
        std::lock_guard lock(mutex);
        EXPECT_TRUE(r);
        if (r) sum += float(*r);
        if (--left == 0) all.set_value();
      });
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < n / 2; ++i) {
          auto const x = static_cast<float>(100 * t + i);
          EXPECT_EQ(float(s.run({{m.x, x}}, m.y)), 2 * x + 1);
          s.run({{m.x, 1.f}}, m.put);
        }
      });
    for (auto& t : threads) t.join();
    all.get_future().wait();
    EXPECT_EQ(sum, 2.f * n);
  };
  std::vector<std::thread> sessions;
  for (auto const& on : {c[0].target(), c[1].target(), connect(c.address(2), options)}) sessions.emplace_back(work, on);
  for (auto& t : sessions) t.join();
  for (std::size_t i = 0; i < 3; ++i)
    for (int k = 0; k < 6000 && !c[i].status().empty(); ++k) std::this_thread::sleep_for(10ms);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(c[i].status(), "");
}

TEST(server, a_task_that_is_lost_ends_the_step_and_is_found_when_it_is_back) {
  served_cluster c({{"worker", 2}});
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "q");
  auto const x = placeholder<float>(g, "x");
  auto const put = q.enqueue(x);
  auto const taken = g.on("/job:worker/task:1", [&] { return dequeue(q); });
  session s{g, connect(c.address(0), test::quick())};
  s.run({{x, 2.f}}, put);
  EXPECT_EQ(float(s.run(taken)), 2.f);
  std::thread ends([&] {
    for (int i = 0; i < 5000 && c[1].status().find("waits for the queue 'q'") == std::string::npos; ++i)
      std::this_thread::sleep_for(5ms);
    c.end(1);
  });
  auto const text = sentence([&] { s.run(taken); });
  ends.join();
  EXPECT_NE(text.find("unavailable"), std::string::npos) << text;
  EXPECT_NE(text.find("/job:worker/task:1"), std::string::npos) << text;
  c.start(1);
  s.run({{x, 3.f}}, put);
  EXPECT_EQ(float(s.run(taken)), 3.f);
}

// A variable that may lie on the task that has left is not given a second home.
TEST(server, a_task_that_has_left_is_missed_only_by_steps_that_may_need_it) {
  served_cluster c({{"worker", 1}, {"ps", 2}});
  graph g;
  auto const v = g.on("/job:ps/task:0", [&] { return variable<float>(g, "v", zeros()); });
  auto const u = g.on("/job:ps", [&] { return variable<float>(g, "u", zeros()); });
  auto const set = g.on("/job:ps/task:0", [&] { return assign(v, constant(g, 3.f)); });
  session s{g, c[0].target()};
  EXPECT_EQ(float(s.run(set)), 3.f);
  c.end(2);
  EXPECT_EQ(float(s.run(v + 1.f)), 4.f) << "a step that was not compiled before";
  auto const text = sentence([&] { s.run(assign(u, constant(g, 1.f))); });
  EXPECT_NE(text.find("unavailable"), std::string::npos) << text;
  EXPECT_NE(text.find("/job:ps/task:1"), std::string::npos) << text;
}

TEST(server, what_ended_a_step_is_told_apart_by_its_cause) {
  served_cluster c({{"worker", 2}});
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "q");
  auto const x = placeholder<float>(g, "x");
  auto const taken = g.on("/job:worker/task:1", [&] { return check_numerics(dequeue(q), "it is bad"); });
  auto const y = g.on("/job:worker/task:0", [&] { return taken + 1.f; });
  auto const put = q.enqueue(x);
  session s{g, connect(c.address(0), test::quick())};
  auto const causes = [&](auto const& f) {
    auto const e = error_of(f);
    return std::pair(e.code(), e.cause());
  };
  auto const waiting = [&](auto const& then) {
    return std::jthread([&c, then] {
      for (int i = 0; i < 5000 && c[1].status().find("waits for the queue 'q'") == std::string::npos; ++i)
        std::this_thread::sleep_for(5ms);
      then();
    });
  };
  s.run({{x, std::numeric_limits<float>::infinity()}}, put);
  EXPECT_EQ(causes([&] { s.run(y); }), std::pair(code::invalid_argument, cause::own));
  EXPECT_EQ(causes([&] { s.run(y, timeout(200ms)); }), std::pair(code::deadline_exceeded, cause::asked_for));
  std::stop_source stop;
  auto const stops = waiting([&] { stop.request_stop(); });
  EXPECT_EQ(causes([&] { s.run(y, stop.get_token()); }), std::pair(code::cancelled, cause::asked_for));
  auto const ends = waiting([&] { c.end(1); });
  EXPECT_EQ(causes([&] { s.run(y); }), std::pair(code::unavailable, cause::lost));
}

TEST(server, a_deadline_ends_a_step_on_all_tasks) {
  served_cluster c({{"worker", 2}});
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "q");
  auto const taken = g.on("/job:worker/task:1", [&] { return dequeue(q); });
  auto const y = g.on("/job:worker/task:0", [&] { return taken + 1.f; });
  session s{g, c[0].target()};
  auto const text = sentence([&] { s.run(y, timeout(200ms)); });
  EXPECT_NE(text.find("deadline"), std::string::npos) << text;
  for (std::size_t i = 0; i < 2; ++i) {
    for (int k = 0; k < 6000 && !c[i].status().empty(); ++k) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(c[i].status(), "") << "of task " << i;
  }
  s.run(q.enqueue(constant(g, 1.f)));
  EXPECT_EQ(float(s.run(y)), 2.f);
}

TEST(server, print_and_observers_hear_of_all_tasks) {
  served_cluster c({{"worker", 2}});
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = g.on("/job:worker/task:1", [&] { return print(x, "there"); });
  std::string log;
  std::mutex mutex;
  session s{g, c[0].target(), {.log = [&](std::string_view line) {
              std::lock_guard lock(mutex);
              log += line;
            }}};
  struct counting final : observer {
    void node_ran(node_record const& r) override { names.emplace_back(r.name); }
    std::vector<std::string> names;
  } seen;
  s.run({{x, 1.f}}, y, observe(seen));
  EXPECT_NE(log.find("there"), std::string::npos) << log;
  EXPECT_FALSE(seen.names.empty());
}

TEST(server, refuses_what_it_should) {
  auto const refused = [](cluster c, server_options o = {}) {
    return sentence([&] { server s(std::move(c), std::move(o)); });
  };
  EXPECT_NE(refused(cluster::parse("worker=10.0.0.1:7000", "worker:0")).find("trusted_network"), std::string::npos);
  EXPECT_NE(refused(cluster::parse("worker=127.0.0.1:7000")).find("set cluster::task"), std::string::npos);
  server first(cluster::parse("worker=127.0.0.1:0", "worker:0"));
  auto const taken = first.cluster().at(first.task()).text();
  EXPECT_NE(refused(cluster::parse("worker=" + taken, "worker:0")).find("can listen"), std::string::npos);
  net_options hasty{.start_timeout = 100ms, .connect_timeout = 100ms};
  auto const nobody = sentence([&] { connect("127.0.0.1:1", hasty); });
  EXPECT_NE(nobody.find("unavailable"), std::string::npos) << nobody;
}

TEST(server, another_task_at_the_address_is_named) {
  test::socket_folder folder;
  auto const a = folder.socket("a"), b = folder.socket("b");
  server first(cluster::parse("worker=" + a + "," + b, "worker:0"), served_cluster::with(test::quick()));
  server other(cluster::parse("ps=" + b, "ps:0"), served_cluster::with(test::quick()));
  graph g;
  auto const y = g.on("/job:worker/task:1", [&] { return constant(g, 1.f) + 1.f; });
  session s{g, first.target()};
  auto const text = sentence([&] { s.run(y); });
  EXPECT_NE(text.find("/job:ps/task:0"), std::string::npos) << text;
}

TEST(server, a_session_waits_until_another_has_given_variables_their_values) {
  served_cluster c({{"worker", 2}, {"ps", 1}});
  graph chiefs, others;
  auto const record = [](graph& g) { return g.on("/job:ps", [&] { return variable<float>(g, "w", zeros()); }); };
  auto const w = record(others);
  record(chiefs);
  session chief{chiefs, c[0].target()}, other{others, c[1].target()};
  EXPECT_NE(sentence([&] { other.wait_for_variables(20ms); }).find("'w'"), std::string::npos);
  std::thread initializes([&] { chief.run(initializer(chiefs)); });
  other.wait_for_variables(60s);
  initializes.join();
  EXPECT_EQ(float(other.run(w)), 0.f);
}

TEST(server, what_is_over_the_limits_is_refused_with_the_reason_and_the_task) {
  auto options = test::quick();
  options.most_incoming = 100000;
  served_cluster c({{"worker", 2}}, served_cluster::with(options));
  graph g;
  auto const large = tensor::adopt(std::vector<float>(100000, 1.f), shape{100000});
  auto const x = placeholder<float, unknown>(g, "x");
  auto const y = g.on("/job:worker/task:1", [&] { return x + 1.f; });
  auto const of_graph = g.on("/job:worker/task:1", [&] { return x + constant(g, large); });
  auto const outer = g.on("/job:worker/task:1", [&] { return reshape<unknown, 1>(x) * reshape<1, unknown>(x); });
  session s{g, c[0].target()};
  auto const check = [&](std::string const& text) {
    for (auto const* words : {"resource_exhausted", "would exceed 100000 bytes", "most_incoming", "/job:worker/task:1"})
      EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  auto const few = vector<float>({1, 2});
  EXPECT_TRUE(same_bits(s.run({{x, few}}, y), vector<float>({2, 3})));
  check(sentence([&] { s.run({{x, large}}, y); }));
  check(sentence([&] { s.run({{x, vector<float>({1})}}, of_graph); }));
  check(sentence([&] { s.run({{x, tensor::adopt(std::vector<float>(1000, 1.f), shape{1000})}}, outer); }));
  EXPECT_TRUE(same_bits(s.run({{x, few}}, y), vector<float>({2, 3})));
}

TEST(server, an_operation_that_a_task_lacks_is_named_with_the_task) {
  auto const all = all_operations();
  std::vector<op_def const*> few;
  std::ranges::copy_if(all, std::back_inserter(few), [](auto const* o) { return o->name != "tanh"; });
  auto options = served_cluster::with(test::quick());
  options.operations = few;
  served_cluster c({{"worker", 2}}, options);
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = g.on("/job:worker/task:1", [&] { return tanh(x); });
  session s{g, c[0].target()};
  auto const text = sentence([&] { s.run({{x, 0.f}}, y); });
  EXPECT_NE(text.find("'tanh'"), std::string::npos) << text;
  EXPECT_NE(text.find("on /job:worker/task:1"), std::string::npos) << text;
}

TEST(server, hangs_up_on_random_bytes_that_come_by_tcp) {
  server s(cluster::parse("worker=127.0.0.1:0", "worker:0"), served_cluster::with(test::quick()));
  auto const at = s.cluster().at(s.task());
  std::mt19937 draw(5);
  for (int i = 0; i < 50; ++i) {
    std::string bytes(std::uniform_int_distribution<std::size_t>(16, 5000)(draw), '\0');
    for (auto& c : bytes) c = static_cast<char>(draw());
    asio::io_context io;
    asio::ip::tcp::socket by(io);
    by.connect(asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), at.port));
    std::error_code e;
    asio::write(by, asio::buffer(bytes), e);
    by.shutdown(asio::socket_base::shutdown_send, e);  // what looks like the begin of a frame ends here
    std::string came(1000, '\0');
    while (by.read_some(asio::buffer(came), e) > 0) {
    }
    EXPECT_TRUE(e) << i;
  }
  graph g;
  session run{g, connect(at.text(), test::quick())};
  auto const x = placeholder<float>(g, "x");
  EXPECT_EQ(float(run.run({{x, 1.f}}, x + 1.f)), 2.f);
}

// Bytes that are no message end a connection, and nothing else.
TEST(server, hangs_up_on_strangers) {
  served_cluster c({{"worker", 1}});
  for (auto const& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(4000, '\0'), std::string(64, '\xff')}) {
    asio::io_context io;
    asio::local::stream_protocol::socket s(io);
    s.connect(asio::local::stream_protocol::endpoint(c.address(0).substr(5)));
    asio::write(s, asio::buffer(bytes));
    std::error_code e;
    std::string came(1000, '\0');
    s.read_some(asio::buffer(came), e);
    EXPECT_TRUE(e) << bytes;
  }
  graph g;
  session s{g, connect(c.address(0), test::quick())};
  EXPECT_EQ(float(s.run(constant(g, 1.f) + 1.f)), 2.f);
}

TEST(server, a_peer_that_says_nothing_is_given_up) {
  test::socket_folder folder;
  asio::io_context io;
  asio::local::stream_protocol::acceptor silent(
      io, asio::local::stream_protocol::endpoint(folder.socket("worker").substr(5)));
  auto hasty = test::quick();
  hasty.start_timeout = 100ms;
  hasty.connect_timeout = 1s;
  auto const text = sentence([&] { connect(folder.socket("worker"), hasty); });
  EXPECT_NE(text.find("did not answer in time"), std::string::npos) << text;
}

TEST(server, join_waits_until_it_is_stopped) {
  server s(cluster::parse("worker=127.0.0.1:0", "worker:0"));
  EXPECT_TRUE(s.is_chief());
  std::thread stops([&] {
    std::this_thread::sleep_for(50ms);
    s.stop();
  });
  EXPECT_EQ(s.join(), 0);
  stops.join();
}

TEST(server, join_ends_when_the_tasks_of_a_job_have_left) {
  test::socket_folder const folder;
  auto const jobs = "ps=" + folder.socket("ps") + " worker=" + folder.socket("worker");
  server ps(cluster::parse(jobs, "ps:0"), test::served_cluster::with(test::quick()));
  EXPECT_EQ(refusal([&] { ps.join("chief"); }), code::not_found);
  std::thread works([&] {
    server worker(cluster::parse(jobs, "worker:0"), test::served_cluster::with(test::quick()));
    graph g;
    session s{g, worker.target()};
    EXPECT_FALSE(s.devices().empty());
  });
  EXPECT_EQ(ps.join("worker"), 0);
  works.join();
}

// Connects as a task. Returns what it is refused with; empty: it is not.
std::string greeting_as(std::string_view task, std::string const& to) {
  auto const net = net::network::make(test::quick(), device_name::parse(task));
  net::peer p(net, address::parse(to), {});
  return sentence([&] { p.wait_for_hello(deadline_after(60s)); });
}

TEST(server, a_task_that_the_cluster_lacks_is_refused) {
  test::socket_folder const folder;
  auto const jobs = "ps=" + folder.socket("ps") + " worker=" + folder.socket("worker");
  server ps(cluster::parse(jobs, "ps:0"), test::served_cluster::with(test::quick()));
  for (auto const* other : {"/job:worker/task:1", "/job:worker/task:999999999", "/job:chief/task:0", "/job:worker",
                            "/task:0", "/job:worker/task:0/device:cpu:0", "/job:ps/task:0"}) {
    auto const text = greeting_as(other, folder.socket("ps"));
    EXPECT_NE(text.find("failed_precondition"), std::string::npos) << text;
    EXPECT_NE(text.find("/job:ps/task:0 knows no task " + std::string(other)), std::string::npos) << text;
  }
  EXPECT_EQ(greeting_as("/job:worker/task:0", folder.socket("ps")), "");
  EXPECT_EQ(ps.join("worker"), 0) << "its only task has been there";
}

TEST(server, join_waits_for_the_others_of_its_own_job) {
  test::socket_folder const folder;
  auto const jobs = "worker=" + folder.socket("a") + "," + folder.socket("b");
  server second(cluster::parse(jobs, "worker:1"), test::served_cluster::with(test::quick()));
  std::thread works([&] {
    server first(cluster::parse(jobs, "worker:0"), test::served_cluster::with(test::quick()));
    graph g;
    auto const x = placeholder<float>(g, "x");
    auto const y = g.on("/job:worker/task:1", [&] { return x + 1.f; });
    session s{g, first.target()};
    EXPECT_EQ(float(s.run({{x, 1.f}}, y)), 2.f);
  });
  EXPECT_EQ(second.join("worker"), 0);
  works.join();
}

TEST(server, join_of_a_job_without_others_ends_at_once) {
  test::socket_folder const folder;
  server alone(cluster::parse("worker=" + folder.socket("a"), "worker:0"), test::served_cluster::with(test::quick()));
  EXPECT_EQ(alone.join("worker"), 0);
}

TEST(server, is_found_by_a_name_of_which_the_first_address_says_nothing) {
  server there(cluster::parse("worker=127.0.0.1:0", "worker:0"), test::served_cluster::with(test::quick()));
  auto at = there.cluster().at(there.task());
  test::silent_address const silent(at.port);
  at.host = test::name_with({"127.0.0.2", "127.0.0.1"});
  auto hasty = test::quick();
  hasty.connect_timeout = 1s;
  EXPECT_NO_THROW(connect(at.text(), hasty));
}

TEST(server, join_names_a_task_that_never_came_when_the_others_have_left) {
  test::socket_folder const folder;
  auto const jobs = "ps=" + folder.socket("ps") + " worker=" + folder.socket("worker") + "," + folder.socket("nobody");
  auto hasty = test::quick();
  hasty.start_timeout = 300ms;
  server ps(cluster::parse(jobs, "ps:0"), test::served_cluster::with(hasty));
  std::thread works([&] {
    server worker(cluster::parse(jobs, "worker:0"), test::served_cluster::with(hasty));
    graph g;
    session s{g, worker.target()};
    EXPECT_NE(sentence([&] { s.devices(); }).find("/job:worker/task:1"), std::string::npos);
  });
  auto const text = sentence([&] { ps.join("worker"); });
  works.join();
  EXPECT_NE(text.find("unavailable: /job:worker/task:1 has never connected"), std::string::npos) << text;
}

}  // namespace
}  // namespace rill
