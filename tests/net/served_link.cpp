// What a server does with messages that no session sends.
#include "rill/net/served_link.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sentence.hpp"
#include "net/proxy.hpp"
#include "net/served.hpp"
#include "rill/rill.hpp"

namespace rill::net {
namespace {

using namespace std::chrono_literals;

// A client that sends what it likes.
class raw_client {
 public:
  explicit raw_client(std::string const& to) {
    std::promise<void> connected;
    net_->connect(address::parse(to), [&](std::unique_ptr<byte_stream> s, failure why) {
      EXPECT_FALSE(why);
      link_ = std::make_shared<link>(std::move(s), net_->options(), net_->traffic());
      link_->trust();
      link_->start(box_);
      connected.set_value();
    });
    connected.get_future().wait();
  }
  ~raw_client() {
    link_->close(failed(code::cancelled, "the test ends"));
    net_->settle();
  }
  raw_client(raw_client const&) = delete;
  raw_client& operator=(raw_client const&) = delete;

  void send(message_kind kind, std::string body, std::vector<tensor> tensors = {}) {
    link_->send({.kind = kind, .body = std::move(body), .tensors = std::move(tensors)});
  }
  void greet() {
    send(message_kind::hello, body_of(net_->hello()));
    auto const m = take();
    ASSERT_TRUE(m && m->kind == message_kind::hello);
  }
  /// A step of its own.
  step_id step() const { return {net_->hello().process, 7}; }
  /// Waits for a message; null: the connection has ended.
  std::optional<message> take() { return box_->take(); }

 private:
  class mailbox final : public link_handler {
   public:
    void came(message m) override {
      std::lock_guard lock(mutex_);
      messages_.push_back(std::move(m));
      changed_.notify_all();
    }
    void closed(failure) override {
      std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    std::optional<message> take() {
      std::unique_lock lock(mutex_);
      EXPECT_TRUE(changed_.wait_for(lock, 60s, [&] { return ended_ || !messages_.empty(); }));
      if (messages_.empty()) return {};
      auto m = std::move(messages_.front());
      messages_.pop_front();
      return m;
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<message> messages_;
    bool ended_ = false;
  };

  std::shared_ptr<network> net_ = network::make(test::quick(), {});
  std::shared_ptr<mailbox> box_ = std::make_shared<mailbox>();
  std::shared_ptr<link> link_;
};

class served_links : public testing::Test {
 public:
  // Whether a session still has its steps run.
  void serves() {
    graph g;
    session s{g, connect(cluster.address(0), test::quick())};
    EXPECT_EQ(float(s.run(constant(g, 1.f) + 1.f)), 2.f);
  }

  test::served_cluster cluster{{{"worker", 1}}};
};

TEST_F(served_links, end_when_a_message_says_nothing) {
  for (std::uint8_t kind = 0; kind < message_kinds; ++kind)
    for (auto const& body : {std::string("x"), std::string(200, '\xff'), std::string(200, '\0')}) {
      raw_client c(cluster.address(0));
      c.greet();
      c.send(static_cast<message_kind>(kind), body);
      EXPECT_FALSE(c.take()) << "kind " << int{kind} << ", " << body.size() << " bytes";
    }
  serves();
}

TEST_F(served_links, end_when_a_message_comes_before_the_first) {
  raw_client c(cluster.address(0));
  c.send(message_kind::have_values, body_of(values_body{1, {"v"}}));
  EXPECT_FALSE(c.take());
  serves();
}

TEST_F(served_links, answer_what_can_not_be_done_with_the_reason_and_stay) {
  raw_client c(cluster.address(0));
  c.greet();
  c.send(message_kind::add, body_of(add_body{.call = 1, .share = 1, .bytes = "no share"}));
  auto m = c.take();
  ASSERT_TRUE(m && m->kind == message_kind::failed);
  EXPECT_EQ(call_of(*m), 1u);
  c.send(message_kind::explain, body_of(explain_body{.call = 2, .share = 1}));
  m = c.take();
  ASSERT_TRUE(m && m->kind == message_kind::failed);
  error_body why;
  read_body(m->body, why);
  EXPECT_EQ(as_error(why).code(), code::not_found);
  c.send(message_kind::run, body_of(net::run_body{.call = 3, .share = 1, .step = c.step()}));
  m = c.take();
  ASSERT_TRUE(m && m->kind == message_kind::failed);
  EXPECT_EQ(call_of(*m), 3u);
}

TEST_F(served_links, end_when_a_client_meddles_with_steps_of_others) {
  for (auto const& [kind, body] : {std::pair(message_kind::forget, body_of(forget_body{{7, 7}})),
                                   std::pair(message_kind::push, body_of(push_body{{7, 7}, {1, 2}})),
                                   std::pair(message_kind::took, body_of(took_body{1, {7, 7}, 1, 2})),
                                   std::pair(message_kind::pull, body_of(pull_body{1, {7, 7}, {1, 2}}))}) {
    raw_client c(cluster.address(0));
    c.greet();
    c.send(kind, body);
    EXPECT_FALSE(c.take());
  }
  serves();
}

TEST_F(served_links, end_when_two_runs_of_a_client_have_one_number) {
  raw_client c(cluster.address(0));
  c.greet();
  tensor const large(dtype::float32, shape{1 << 20});  // the second comes before the first has come whole
  auto const body = body_of(net::run_body{.call = 3, .share = 1, .step = c.step()});
  c.send(message_kind::run, body, {large});
  c.send(message_kind::run, body);
  EXPECT_FALSE(c.take());
  serves();
}

TEST_F(served_links, pass_over_what_is_said_of_things_that_are_not_there) {
  raw_client c(cluster.address(0));
  c.greet();
  for (auto kind : {message_kind::drop, message_kind::trim}) c.send(kind, body_of(share_body{7}));
  c.send(message_kind::stop, body_of(call_body{7}));
  c.send(message_kind::forget, body_of(forget_body{c.step()}));
  c.send(message_kind::have_values, body_of(values_body{1, {"v"}}));
  auto const m = c.take();
  ASSERT_TRUE(m && m->kind == message_kind::answer);
  std::uint64_t call = 0;
  std::vector<bool> have;
  read_body(m->body, call, have);
  EXPECT_EQ(have, std::vector<bool>{false});
}

TEST_F(served_links, refuse_too_many_names_and_stay) {
  raw_client c(cluster.address(0));
  c.greet();
  c.send(message_kind::have_values, body_of(values_body{1, std::vector<std::string>(values_body::most + 1, "v")}));
  auto m = c.take();
  ASSERT_TRUE(m && m->kind == message_kind::failed);
  error_body why;
  read_body(m->body, why);
  EXPECT_EQ(as_error(why).code(), code::resource_exhausted);
  EXPECT_NE(why.message.find("100001 variables"), std::string::npos) << why.message;
  c.send(message_kind::have_values, body_of(values_body{2, std::vector<std::string>(values_body::most, "v")}));
  m = c.take();
  ASSERT_TRUE(m && m->kind == message_kind::answer);
}

TEST_F(served_links, refuse_a_message_of_names_that_is_too_long) {
  raw_client c(cluster.address(0));
  c.greet();
  c.send(message_kind::have_values, body_of(values_body{1, {std::string(17 << 20, 'v')}}));
  auto const m = c.take();
  ASSERT_TRUE(m && m->kind == message_kind::refused);
  EXPECT_EQ(refusal_of(*m).code(), code::resource_exhausted);
  serves();
}

TEST(server, refuses_more_requests_of_a_client_at_once_than_it_allows) {
  auto options = test::served_cluster::with(test::quick());
  options.clients.requests = 0;
  test::served_cluster cluster({{"worker", 1}}, options);
  raw_client c(cluster.address(0));
  c.greet();
  std::uint64_t call = 0;
  for (auto const& [kind, body] : {std::pair(message_kind::have_values, body_of(values_body{1, {"v"}})),
                                   std::pair(message_kind::add, body_of(add_body{2, 1, "no share"})),
                                   std::pair(message_kind::explain, body_of(explain_body{3, 1}))}) {
    c.send(kind, body);
    auto const m = c.take();
    ASSERT_TRUE(m && m->kind == message_kind::failed);
    error_body why;
    read_body(m->body, why);
    EXPECT_EQ(why.call, ++call);
    EXPECT_EQ(as_error(why).code(), code::resource_exhausted);
    EXPECT_NE(why.message.find("client_limits::requests"), std::string::npos) << why.message;
  }
}

TEST(server, refuses_shares_of_clients_that_are_too_large_and_names_the_option) {
  auto options = test::served_cluster::with(test::quick());
  options.clients.share = 100000;
  test::served_cluster cluster({{"worker", 1}}, options);
  graph g;
  auto const x = placeholder<float, unknown>(g, "x");
  auto const large = constant(g, tensor::adopt(std::vector<float>(30000, 1.f), shape{30000}));
  session s{g, connect(cluster.address(0), test::quick())};
  auto const e = error_of([&] { (void)s.run({{x, vector<float>({2})}}, x + large); });
  EXPECT_EQ(e.code(), code::resource_exhausted);
  EXPECT_NE(e.message().find("client_limits::share"), std::string::npos) << e.message();
}

// A client that reaches ps by a road on which answers can be held up, as if it did not read.
class unread_results : public testing::Test {
 public:
  void start(client_limits const& limits) {
    auto options = test::served_cluster::with(test::quick());
    options.net.report_after = 24h;  // a report would be one message more
    there = std::make_unique<server>(cluster::parse("worker=" + worker + " ps=" + ps, "ps:0"), [&] {
      auto limited = options;
      limited.clients = limits;
      return limited;
    }());
    here = std::make_unique<server>(cluster::parse("worker=" + worker + " ps=" + folder.socket("road"), "worker:0"),
                                    options);
    s.emplace(g, connect(worker, test::quick()));
    EXPECT_EQ(float(s->run({{x, 1.f}}, small)), 2.f);
    run();
    before = there->traffic().messages_sent;
    road.hold_answers();
  }
  // Fetches 4 MiB.
  void run() { EXPECT_EQ(s->run({{x, 1.f}}, large).values()[0], 2.f); }
  std::future<std::string> begin(std::function<void()> const& f) {
    return std::async(std::launch::async, [f] { return sentence(f); });
  }
  // Waits until ps has an answer for n runs.
  void wait_for_answers(std::uint64_t n) {
    while (there->traffic().messages_sent < before + n) std::this_thread::sleep_for(1ms);
  }

  test::socket_folder folder;
  std::string worker = folder.socket("worker"), ps = folder.socket("ps");
  test::proxy road{folder.socket("road"), ps};
  std::unique_ptr<server> there, here;
  graph g;
  expr<of<float>> x = placeholder<float>(g, "x");
  expr<of<float, (1 << 20)>> large = g.on("/job:ps", [&] { return broadcast_to<(1 << 20)>(x + 1.f); });
  expr<of<float>> small = g.on("/job:ps", [&] { return x + 1.f; });
  std::optional<session> s;
  std::uint64_t before = 0;
};

TEST_F(unread_results, keep_the_place_of_their_step) {
  start({.steps = 2});
  auto first = begin([&] { run(); });
  wait_for_answers(1);
  auto second = begin([&] { run(); });
  wait_for_answers(2);
  auto third = begin([&] { run(); });
  wait_for_answers(3);
  road.hold_answers(false);
  EXPECT_EQ(first.get(), "");
  EXPECT_EQ(second.get(), "");
  auto const text = third.get();
  EXPECT_NE(text.find("resource_exhausted"), std::string::npos) << text;
  EXPECT_NE(text.find("client_limits::steps"), std::string::npos) << text;
  run();
}

TEST_F(unread_results, are_no_more_than_a_client_may_leave) {
  start({.outgoing = 1 << 20});
  auto first = begin([&] { run(); });
  wait_for_answers(1);
  std::vector<std::future<std::string>> more;
  for (std::uint64_t i = 0; i < 5; ++i) {
    more.push_back(begin([&] { run(); }));
    wait_for_answers(2 + i);
  }
  auto other = begin([&] { EXPECT_EQ(float(s->run({{x, 2.f}}, small)), 3.f); });
  wait_for_answers(7);
  road.hold_answers(false);
  EXPECT_EQ(first.get(), "");
  for (auto& m : more) {
    auto const text = m.get();
    EXPECT_NE(text.find("resource_exhausted"), std::string::npos) << text;
    EXPECT_NE(text.find("client_limits::outgoing"), std::string::npos) << text;
  }
  EXPECT_EQ(other.get(), "") << "small results are sent";
  run();
}

}  // namespace
}  // namespace rill::net
