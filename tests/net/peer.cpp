// A process as another asks it: when it is not there yet, hangs up, answers late, or is not what was expected.
#include "rill/net/peer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sentence.hpp"
#include "net/served.hpp"
#include "rill/net/peers.hpp"

namespace rill::net {
namespace {

using namespace std::chrono_literals;

message greeting(device_name const& task = {}) {
  return {.kind = message_kind::hello, .body = body_of(network::make({}, task)->hello())};
}

// A process at the other end, which does what a test says with each message after the first.
class other_process {
 public:
  using answering = std::function<void(link&, message)>;

  /// `first`: what it says first; without a body: nothing.
  other_process(address const& at, answering f, message first = greeting())
      : first_(std::move(first)), answer_(std::move(f)), acceptor_(net_->io()) {
    acceptor_.open(asio::local::stream_protocol());
    acceptor_.bind(asio::local::stream_protocol::endpoint(at.path));
    acceptor_.listen();
    accept();
  }
  ~other_process() {
    on_its_thread([&] { acceptor_.close(); });
    hang_up();
  }
  other_process(other_process const&) = delete;
  other_process& operator=(other_process const&) = delete;

  /// Closes all connections.
  void hang_up() {
    on_its_thread([&] {
      for (auto const& l : std::exchange(links_, {})) l->close(failed(code::cancelled, "the test hangs up"));
    });
  }

 private:
  class answerer final : public link_handler {
   public:
    answerer(other_process& of, std::shared_ptr<link> const& l) : of_(of), link_(l) {}
    void came(message m) override {
      auto const l = link_.lock();
      if (m.kind != message_kind::hello) return of_.answer_(*l, std::move(m));
      if (!of_.first_.body.empty()) l->send(of_.first_);
    }
    void closed(failure) override {}

   private:
    other_process& of_;
    std::weak_ptr<link> link_;
  };

  template <class F> void on_its_thread(F const& f) {
    asio::post(net_->io(), [&] { f(); });
    net_->settle();
  }
  void accept() {
    acceptor_.async_accept([this](std::error_code e, asio::local::stream_protocol::socket s) {
      if (e) return;
      auto const l = std::make_shared<link>(std::make_unique<socket_stream>(stream_socket(std::move(s))),
                                            net_->options(), net_->traffic());
      l->trust();
      l->start(std::make_shared<answerer>(*this, l));
      links_.push_back(l);
      accept();
    });
  }

  message const first_;
  answering answer_;
  std::shared_ptr<network> net_ = network::make({}, {});
  asio::local::stream_protocol::acceptor acceptor_;
  std::vector<std::shared_ptr<link>> links_;
};

// What was answered, for a thread that waits.
class outcome {
 public:
  answered take() {
    return [p = promise_](failure why, message m) { p->set_value({std::move(why), std::move(m)}); };
  }
  std::pair<failure, message> wait() {
    EXPECT_EQ(came_.wait_for(60s), std::future_status::ready);
    return came_.get();
  }
  bool is_there() const { return came_.wait_for(0s) == std::future_status::ready; }

 private:
  std::shared_ptr<std::promise<std::pair<failure, message>>> promise_ =
      std::make_shared<std::promise<std::pair<failure, message>>>();
  std::future<std::pair<failure, message>> came_ = promise_->get_future();
};

message question(std::uint64_t call) { return {.kind = message_kind::have_values, .body = body_of(call)}; }
void answer(link& to, message const& m) { to.send({.kind = message_kind::answer, .body = m.body}); }

class peers_of_a_process : public testing::Test {
 public:
  std::shared_ptr<network> with(net_options const& o = {}) { return network::make(o, {}); }

  test::socket_folder folder;
  address const at = address::parse(folder.socket("s"));
};

TEST_F(peers_of_a_process, ask_before_it_is_there) {
  peer p(with(), at, {});
  outcome o;
  p.ask(7, question(7), o.take());
  std::this_thread::sleep_for(100ms);  // some attempts fail
  EXPECT_FALSE(o.is_there());
  other_process const other(at, answer);
  auto const [why, m] = o.wait();
  ASSERT_FALSE(why) << why->what();
  EXPECT_EQ(call_of(m), 7u);
}

TEST_F(peers_of_a_process, hear_that_it_does_not_come) {
  peer p(with({.start_timeout = 100ms}), at, {});
  outcome o;
  p.ask(1, question(1), o.take());
  auto const why = o.wait().first;
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::unavailable);
  EXPECT_NE(why->message().find(at.text()), std::string::npos) << why->message();
}

TEST_F(peers_of_a_process, take_answers_in_any_order) {
  std::vector<message> asked;
  other_process const other(at, [&](link& l, message m) {
    asked.push_back(std::move(m));
    if (asked.size() < 3) return;
    std::reverse(asked.begin(), asked.end());
    for (auto const& each : asked) answer(l, each);
  });
  peer p(with(), at, {});
  outcome each[3];
  for (std::uint64_t i = 0; i < 3; ++i) p.ask(i + 1, question(i + 1), each[i].take());
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(call_of(each[i].wait().second), i + 1);
}

TEST_F(peers_of_a_process, give_a_call_up_and_go_on) {
  other_process const other(at, answer);
  peer p(with(), at, {});
  bool called = false;
  p.ask(1, question(1), [&](failure, message) { called = true; });
  p.forget(1);
  EXPECT_EQ(call_of(p.ask_and_wait(2, question(2))), 2u) << "the answer behind the first one's";
  EXPECT_FALSE(called);
}

TEST_F(peers_of_a_process, are_all_asked_before_an_answer_is_waited_for) {
  std::vector<message> asked;
  other_process const other(at, [&](link& l, message m) {
    asked.push_back(std::move(m));
    if (asked.size() == 3)
      for (auto const& each : asked) answer(l, each);
  });
  peer p(with(), at, {});
  std::vector<task_answer<message>> answers;
  for (std::uint64_t i = 1; i < 4; ++i) answers.push_back(p.ask(i, question(i)));
  for (std::uint64_t i = 1; i < 4; ++i) EXPECT_EQ(call_of(answers[i - 1].get()), i);
}

TEST_F(peers_of_a_process, forget_an_answer_that_nobody_waits_for) {
  std::vector<message> asked;
  other_process const other(at, [&](link& l, message m) {
    asked.push_back(std::move(m));
    if (asked.size() == 2)
      for (auto const& each : asked) answer(l, each);
  });
  peer p(with(), at, {});
  auto const held = std::make_shared<int>(0);
  {
    auto const unwanted = p.ask(1, question(1), [held] { ++*held; });
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(call_of(p.ask_and_wait(2, question(2))), 2u);
  EXPECT_EQ(*held, 0);
}

TEST_F(peers_of_a_process, say_how_long_an_answer_was_waited_for) {
  other_process const other(at, [](link&, message const&) {});
  peer p(with({.answer_timeout = 100ms}), at, {});
  auto const why = error_of([&] { (void)p.ask_and_wait(1, question(1)); });
  EXPECT_EQ(why.code(), code::deadline_exceeded);
  EXPECT_NE(why.message().find("100 ms (net_options::answer_timeout)"), std::string::npos) << why.message();
}

TEST_F(peers_of_a_process, connect_again_when_it_has_hung_up) {
  std::promise<void> asked;
  other_process other(at, [&](link& l, message m) {
    if (call_of(m) == 2) asked.set_value();
    else answer(l, m);
  });
  peer p(with(), at, {});
  (void)p.ask_and_wait(1, question(1));
  auto const before = p.connections();
  outcome lost;
  p.ask(2, question(2), lost.take());
  asked.get_future().wait();
  other.hang_up();
  auto const why = lost.wait().first;
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::unavailable);
  EXPECT_NE(p.connections(), before) << "what was registered is gone";
  EXPECT_EQ(call_of(p.ask_and_wait(3, question(3))), 3u);
}

TEST_F(peers_of_a_process, do_not_wait_for_one_that_was_there_and_is_gone) {
  peer p(with(), at, {});
  auto const latest = std::chrono::steady_clock::now() + 1h;
  {
    other_process const other(at, answer);
    (void)p.wait_for_hello(latest);
    p.reach(latest);  // it is there, so that nothing begins
  }
  outcome lost;
  p.ask(1, question(1), lost.take());
  auto const why = lost.wait().first;
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::unavailable);
}

TEST_F(peers_of_a_process, give_up_one_that_does_not_say_who_it_is) {
  other_process const other(at, answer, {});
  peer p(with({.connect_timeout = 200ms}), at, {});
  EXPECT_NE(sentence([&] { p.wait_for_hello(std::chrono::steady_clock::now()); }).find("did not answer in time"),
            std::string::npos);
}

TEST_F(peers_of_a_process, say_why_they_were_refused) {
  error const e(code::failed_precondition, "it is full");
  other_process const other(at, answer, {.kind = message_kind::refused, .body = body_of(as_body(0, e))});
  peer p(with(), at, {});
  auto const why = error_of([&] { (void)p.ask_and_wait(1, question(1)); });
  EXPECT_EQ(why.code(), code::failed_precondition);
  EXPECT_EQ(why.message(), at.text() + ": it is full");
}

TEST_F(peers_of_a_process, refuse_another_task_than_the_one_that_they_expect) {
  other_process const other(at, answer, greeting(device_name::parse("/job:ps/task:1")));
  peer p(with(), at, device_name::parse("/job:ps/task:0"));
  auto const e = error_of([&] { p.wait_for_hello(std::chrono::steady_clock::now() + 60s); });
  EXPECT_EQ(e.code(), code::failed_precondition);
  EXPECT_NE(e.message().find("at this address is /job:ps/task:1"), std::string::npos) << e.message();
}

TEST_F(peers_of_a_process, hear_of_each_value_that_has_come_and_of_no_other) {
  int pushed = 0;
  other_process const other(at, [&](link& l, message const& m) {
    if (m.kind == message_kind::push && ++pushed == 2)  // one answer for both
      l.send({.kind = message_kind::pushed, .body = body_of(std::uint64_t{2})});
    if (m.kind == message_kind::have_values)
      l.send({.kind = message_kind::pushed, .body = body_of(std::uint64_t{1})});  // of none that was sent
  });
  peer p(with(), at, {});
  std::promise<failure> ended[2];
  for (auto& e : ended)
    p.push({.kind = message_kind::push, .body = "x", .tensors = {tensor(1.f)}},
           [&](failure why) { e.set_value(std::move(why)); });
  for (auto& e : ended) EXPECT_FALSE(e.get_future().get());
  outcome o;
  p.ask(1, question(1), o.take());
  auto const why = o.wait().first;
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::data_loss);
}

TEST_F(peers_of_a_process, hear_of_an_answer_that_says_nothing) {
  other_process const other(at, [](link& l, message const&) {
    l.send({.kind = message_kind::failed, .body = body_of(std::uint64_t{1}) + "?"});
  });
  peer p(with(), at, {});
  outcome o;
  p.ask(1, question(1), o.take());
  auto const why = o.wait().first;
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::data_loss);
}

TEST(peers, name_a_task_that_they_do_not_know) {
  auto const task = device_name::parse("/job:ps/task:0");
  peers const all(network::make({}, {}), {{task, address::parse("127.0.0.1:1")}});
  EXPECT_EQ(all.find(task)->text(), "/job:ps/task:0 (127.0.0.1:1)");
  EXPECT_NE(sentence([&] { (void)all.find(device_name::parse("/job:ps/task:1")); }).find("/job:ps/task:1"),
            std::string::npos);
}

}  // namespace
}  // namespace rill::net
