// What a server does with messages that no session sends.
#include "rill/net/served_link.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

  void send(message_kind kind, std::string body) { link_->send({.kind = kind, .body = std::move(body)}); }
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

}  // namespace
}  // namespace rill::net
