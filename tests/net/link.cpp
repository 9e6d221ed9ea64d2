// Two ends of a connection.
#include "rill/net/link.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <asio/use_future.hpp>

#include "base/limit.hpp"
#include "net/quiet_ucx.hpp"
#include "rill/device/emulated.hpp"
#include "rill/net/security.hpp"
#include "rill/net/shared_memory.hpp"
#include "rill/net/tls_stream.hpp"
#include "rill/net/ucx_stream.hpp"

namespace rill::net {
namespace {

using namespace std::chrono_literals;

// Keeps what comes.
class mailbox final : public link_handler {
 public:
  void came(message m) override {
    std::lock_guard lock(mutex);
    messages.push_back(std::move(m));
    changed.notify_all();
  }
  void closed(failure w) override {
    std::lock_guard lock(mutex);
    why = std::move(w);
    changed.notify_all();
  }
  message take(std::chrono::seconds patience = 60s) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, patience, [&] { return !messages.empty() || why; }));
    if (messages.empty()) return {};
    auto m = std::move(messages.front());
    messages.pop_front();
    return m;
  }
  bool is_empty() {
    std::lock_guard lock(mutex);
    return messages.empty();
  }
  failure wait_for_end() {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, 60s, [&] { return why != nullptr; }));
    return why;
  }

 private:
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<message> messages;
  failure why;
};

// What carries the bytes.
enum class carrier { unix_socket, tcp4, tcp6, tls, memory, ucx };

// Makes two ends of a TCP connection. Returns whether this machine has such addresses.
template <class Address> bool connect_by_tcp(Address own, int (&ends)[2]) {
  auto* const at = reinterpret_cast<sockaddr*>(&own);
  socklen_t size = sizeof own;
  auto const family = at->sa_family;
  int const listens = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listens, at, size) != 0) {
    ::close(listens);
    return false;
  }
  EXPECT_EQ(::listen(listens, 1), 0);
  EXPECT_EQ(::getsockname(listens, at, &size), 0);
  ends[0] = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::connect(ends[0], at, size), 0);
  ends[1] = ::accept4(listens, nullptr, nullptr, SOCK_CLOEXEC);
  EXPECT_GE(ends[1], 0);
  ::close(listens);
  return true;
}

class links : public testing::TestWithParam<carrier> {
 public:
  void SetUp() override {
    int ends[2];
    if (!make_sockets(ends)) GTEST_SKIP() << "this machine has no address ::1";
    for (int e : ends) ::close(e);
  }
  // Makes two sockets that are connected. Returns whether there are such on this machine.
  static bool make_sockets(int (&ends)[2]) {
    if (GetParam() == carrier::tcp4)
      return connect_by_tcp(
          sockaddr_in{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}},
          ends);
    if (GetParam() == carrier::tcp6) {
      sockaddr_in6 own = {};
      own.sin6_family = AF_INET6;
      own.sin6_addr = in6addr_loopback;
      return connect_by_tcp(own, ends);
    }
    return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
  }
  void connect(net_options const& options = {}) {
    int ends[2];
    ASSERT_TRUE(make_sockets(ends));
    std::unique_ptr<byte_stream> streams[2];
    make_streams(ends, streams);
    for (int i = 0; i < 2; ++i) {
      boxes[i] = std::make_shared<mailbox>();
      all[i] = std::make_shared<link>(std::move(streams[i]), options, std::make_shared<traffic_count>(),
                                      std::make_shared<receive_memory>(), long_work);
      asio::post(io, [this, i] {
        all[i]->trust();
        all[i]->start(boxes[i]);
      });
    }
    work();
  }
  stream_socket socket_of(int end) {
    auto const by = GetParam();
    if (by == carrier::tcp4) return {io, {AF_INET, IPPROTO_TCP}, end};
    if (by == carrier::tcp6) return {io, {AF_INET6, IPPROTO_TCP}, end};
    return {io, {AF_UNIX, 0}, end};
  }
  std::unique_ptr<byte_stream> stream_of(int end) { return std::make_unique<socket_stream>(socket_of(end)); }
  // Two ends of a connection beside or over these sockets.
  void make_streams(int const* ends, std::unique_ptr<byte_stream> (&made)[2]) {
#if RILL_UCX
    if (GetParam() == carrier::ucx) {
      auto first = std::make_unique<detail::ucx_end>(), second = std::make_unique<detail::ucx_end>();
      first->connect(second->address());
      second->connect(first->address());
      made[0] = std::make_unique<ucx_stream>(socket_of(ends[0]), std::move(first));
      made[1] = std::make_unique<ucx_stream>(socket_of(ends[1]), std::move(second));
      return;
    }
#endif
#if RILL_TLS
    if (GetParam() == carrier::tls) return make_tls_streams(ends, made);
#endif
    descriptor const memory = GetParam() == carrier::memory ? shared_rings::make() : descriptor();
    for (int i = 0; i < 2; ++i)
      if (GetParam() != carrier::memory) made[i] = stream_of(ends[i]);
      else made[i] = std::make_unique<memory_stream>(socket_of(ends[i]), memory, i == 0);
  }
#if RILL_TLS
  // Both have shaken hands.
  void make_tls_streams(int const* ends, std::unique_ptr<byte_stream> (&made)[2]) {
    auto const by = tls_context::make({}, shared_key::parse("rill-key cluster task " + std::string(64, 'a')), {});
    std::future<identity> shaken[2];
    for (int i = 0; i < 2; ++i) {
      auto stream = std::make_unique<tls_stream>(socket_of(ends[i]), by, i == 1, "");
      shaken[i] = asio::co_spawn(io, stream->shake_hands(), asio::use_future);
      made[i] = std::move(stream);
    }
    work();
    for (auto& s : shaken) EXPECT_EQ(s.get().name, "cluster");
  }
#endif
  void work() {
    if (!thread.joinable()) thread = std::thread([this] { io.run(); });
  }
  ~links() override {
    for (auto const& l : all)
      if (l) l->close(failed(code::cancelled, "the test ends"));
    guard.reset();
    if (thread.joinable()) thread.join();
  }

  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(io);
  std::shared_ptr<turns> long_work = std::make_shared<turns>(1);
  std::shared_ptr<link> all[2];
  std::shared_ptr<mailbox> boxes[2];
  std::thread thread;
};

tensor numbers(std::int64_t n) {
  tensor t(dtype::float32, shape{n});
  for (std::int64_t i = 0; i < n; ++i) t.mutable_data<float>()[i] = static_cast<float>(i % 977);
  return t;
}

TEST_P(links, carry_messages_with_tensors_both_ways) {
  connect();
  auto const words = tensor::adopt(std::vector<std::string>{"a", std::string(200000, 'b')}, shape{2});
  auto const large = numbers(1000000), none = tensor(dtype::float32, shape{0, 4});
  all[0]->send({.kind = message_kind::push, .body = "x", .tensors = {words, none, large, tensor(true)}});
  all[1]->send({.kind = message_kind::pull, .body = "y"});
  auto const there = boxes[1]->take(), here = boxes[0]->take();
  ASSERT_EQ(there.tensors.size(), 4u);
  EXPECT_TRUE(same_bits(there.tensors[0], words));
  EXPECT_TRUE(same_bits(there.tensors[1], none));
  EXPECT_TRUE(same_bits(there.tensors[2], large));
  EXPECT_EQ(there.body, "x");
  EXPECT_EQ(here.body, "y");
}

TEST_P(links, carry_what_lies_in_the_memory_of_a_device) {
  connect();
  auto const device = emulated("gpu:0", {.memory = 1 << 24});
  auto const small = numbers(4), large = numbers(1000000), none = tensor(dtype::float32, shape{0, 4});
  all[0]->send({.kind = message_kind::push, .tensors = {small.to(device), none.to(device), large.to(device), small}});
  auto const there = boxes[1]->take();
  ASSERT_EQ(there.tensors.size(), 4u);
  EXPECT_TRUE(same_bits(there.tensors[0], small));
  EXPECT_TRUE(same_bits(there.tensors[1], none));
  EXPECT_TRUE(same_bits(there.tensors[2], large));
  EXPECT_TRUE(same_bits(there.tensors[3], small));
  for (auto const& t : there.tensors) EXPECT_EQ(t.device(), "host");
  EXPECT_EQ(device->memory().usage().count, 0);
}

TEST_P(links, carry_long_messages_before_their_tensors) {
  connect();
  std::string const body(3000000, 'z');
  auto const large = numbers(100000);
  all[0]->send({.kind = message_kind::add, .body = body, .tensors = {large}});
  auto const m = boxes[1]->take();
  EXPECT_EQ(m.body, body);
  ASSERT_EQ(m.tensors.size(), 1u);
  EXPECT_TRUE(same_bits(m.tensors[0], large));
}

TEST_P(links, keep_what_follows_a_long_message_behind_it) {
  connect();
  auto const large = numbers(1 << 20);
  all[0]->send({.kind = message_kind::push, .body = "first", .tensors = {large}});
  all[0]->send({.kind = message_kind::print, .body = std::string(1000000, 'x')});
  all[0]->send({.kind = message_kind::answer, .body = "last"});
  std::vector<std::size_t> order;
  for (int i = 0; i < 3; ++i) order.push_back(boxes[1]->take().body.size());
  EXPECT_LT(std::find(order.begin(), order.end(), 1000000u), std::find(order.begin(), order.end(), 4u));
}

TEST_P(links, refuse_tensors_of_strangers) {
  int ends[2];
  ASSERT_TRUE(make_sockets(ends));
  for (int i = 0; i < 2; ++i) {
    boxes[i] = std::make_shared<mailbox>();
    all[i] = std::make_shared<link>(stream_of(ends[i]), net_options{}, std::make_shared<traffic_count>());
    asio::post(io, [this, i] { all[i]->start(boxes[i]); });
  }
  thread = std::thread([this] { io.run(); });
  all[0]->send({.kind = message_kind::push, .tensors = {numbers(1000)}});
  EXPECT_EQ(boxes[1]->wait_for_end()->code(), code::unauthenticated);
}

TEST_P(links, let_small_messages_pass_large_tensors) {
  connect();
  auto const large = numbers(8 << 20);
  asio::post(io, [&] {  // before the thread sends or receives anything
    for (int i = 0; i < 4; ++i) all[0]->send({.kind = message_kind::push, .body = "large", .tensors = {large}});
    all[0]->send({.kind = message_kind::pull, .body = "small"});
  });
  EXPECT_EQ(boxes[1]->take().body, "small");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(boxes[1]->take().body, "large");
}

TEST_P(links, lose_and_double_nothing_that_several_threads_send) {
  connect();
  constexpr int n = 3000;
  std::vector<std::thread> senders;
  for (int t = 0; t < 3; ++t)
    senders.emplace_back([&, t] {
      for (int i = 0; i < n; ++i)
        all[0]->send({.kind = message_kind::push,
                      .body = std::to_string(t),
                      .tensors = {i % 100 == 0 ? numbers(50000) : tensor(static_cast<float>(i))}});
    });
  int count[3] = {};
  float small[3] = {-1, -1, -1};
  for (int i = 0; i < 3 * n; ++i) {
    auto const m = boxes[1]->take();
    auto const from = std::stoi(m.body);
    ++count[from];
    if (m.tensors[0].rank() != 0) continue;
    EXPECT_GT(m.tensors[0].item<float>(), small[from]) << "small messages of one thread keep their order";
    small[from] = m.tensors[0].item<float>();
  }
  for (auto& s : senders) s.join();
  for (int c : count) EXPECT_EQ(c, n);
}

TEST_P(links, say_when_the_other_side_hangs_up) {
  connect();
  all[0]->close(failed(code::cancelled, "enough"));
  EXPECT_EQ(boxes[0]->wait_for_end()->message(), "enough");
  EXPECT_EQ(boxes[1]->wait_for_end()->code(), code::unavailable);
  all[0]->send({.kind = message_kind::pull});  // is lost
}

TEST_P(links, send_what_is_left_before_they_close) {
  connect();
  auto const large = numbers(3 << 20);
  all[0]->send({.kind = message_kind::push, .tensors = {large}});
  all[0]->close_when_sent(failed(code::cancelled, "enough"));
  EXPECT_TRUE(same_bits(boxes[1]->take().tensors.at(0), large));
}

TEST_P(links, let_the_other_side_read_what_they_said_before_they_closed) {
  if (GetParam() >= carrier::tls) GTEST_SKIP() << "this is no socket as it is";
  int ends[2];
  ASSERT_TRUE(make_sockets(ends));
  boxes[0] = std::make_shared<mailbox>();
  all[0] = std::make_shared<link>(stream_of(ends[0]), net_options{}, std::make_shared<traffic_count>());
  std::promise<void> said;
  asio::post(io, [&] {  // in one go, so that the link does not read before it closes
    all[0]->start(boxes[0]);
    EXPECT_EQ(::send(ends[1], "unread", 6, 0), 6);
    all[0]->send({.kind = message_kind::push, .tensors = {numbers(10)}});
    all[0]->close_when_sent(failed(code::cancelled, "enough"));
    said.set_value();
  });
  thread = std::thread([this] { io.run(); });
  said.get_future().wait();
  char bytes[4096];
  ssize_t came = 0, n = 0;
  while ((n = ::recv(ends[1], bytes, sizeof bytes, 0)) > 0) came += n;
  EXPECT_EQ(n, 0) << "the connection was reset";
  EXPECT_GT(came, 40);
  ::close(ends[1]);
  EXPECT_EQ(boxes[0]->wait_for_end()->message(), "enough");
}

TEST_P(links, refuse_more_than_they_may_take) {
  connect({.most_incoming = 1000});
  all[0]->send({.kind = message_kind::push, .tensors = {numbers(1000)}});
  auto const told = boxes[0]->take();
  ASSERT_EQ(told.kind, message_kind::refused);
  auto const why = refusal_of(told);
  EXPECT_EQ(why.code(), code::resource_exhausted);
  EXPECT_NE(why.message().find("would exceed 1000 bytes"), std::string::npos) << why.what();
  all[0]->close(failed(code::cancelled, "it was told to"));
  EXPECT_EQ(boxes[1]->wait_for_end()->message(), why.message());
}

TEST_P(links, end_without_a_side_that_does_not_hang_up_when_it_is_refused) {
  connect({.connect_timeout = 100ms, .heartbeat = 20ms, .most_incoming = 1000});
  for (int i = 0; i < 2; ++i) all[0]->send({.kind = message_kind::push, .tensors = {numbers(1000)}});
  EXPECT_EQ(boxes[1]->wait_for_end()->code(), code::resource_exhausted);
  EXPECT_EQ(boxes[0]->take().kind, message_kind::refused);
  EXPECT_EQ(boxes[0]->wait_for_end()->code(), code::unavailable);
}

TEST_P(links, read_what_takes_long_on_another_thread_and_in_order) {
  connect();
  std::promise<void> go;
  long_work->post("test", [until = go.get_future().share()] { until.wait(); });
  auto const words = tensor::adopt(std::vector<std::string>(10000, "a word"), shape{10000});
  tensor bools(dtype::boolean, shape{1 << 20});
  std::fill_n(bools.mutable_data<bool>(), 1 << 20, true);
  all[0]->send({.kind = message_kind::print, .body = std::string(200000, 'x')});
  all[0]->send({.kind = message_kind::push, .body = "strings", .tensors = {words}});
  all[0]->send({.kind = message_kind::push, .body = "bools", .tensors = {bools}});
  all[1]->send({.kind = message_kind::pull, .body = "their thread goes on"});
  EXPECT_EQ(boxes[0]->take().body, "their thread goes on");
  EXPECT_TRUE(boxes[1]->is_empty());
  go.set_value();
  EXPECT_EQ(boxes[1]->take().body.size(), 200000u);
  for (int i = 0; i < 2; ++i) {
    auto const m = boxes[1]->take();
    ASSERT_EQ(m.tensors.size(), 1u);
    EXPECT_TRUE(same_bits(m.tensors[0], m.body == "bools" ? bools : words)) << m.body;
  }
}

TEST_P(links, refuse_messages_that_are_too_long_beside_their_tensors) {
  connect();
  all[0]->send({.kind = message_kind::stop, .body = std::string(2 << 20, 'x')});
  auto const why = refusal_of(boxes[0]->take());
  EXPECT_EQ(why.code(), code::resource_exhausted);
  EXPECT_NE(why.message().find("at most 1048576 are allowed"), std::string::npos) << why.what();
}

TEST_P(links, refuse_shares_that_are_too_large) {
  connect({.most_share = 100000});
  all[0]->send({.kind = message_kind::add, .body = std::string(99000, 'x')});
  EXPECT_EQ(boxes[1]->take().body.size(), 99000u);
  all[0]->send({.kind = message_kind::add, .body = std::string(100001, 'x')});
  auto const why = refusal_of(boxes[0]->take());
  EXPECT_EQ(why.code(), code::resource_exhausted);
  EXPECT_NE(why.message().find("net_options::most_share"), std::string::npos) << why.what();
}

TEST_P(links, refuse_messages_of_too_many_tensors) {
  connect();
  all[0]->send({.kind = message_kind::run, .tensors = std::vector<tensor>(most_tensors + 1, tensor(true))});
  auto const why = refusal_of(boxes[0]->take());
  EXPECT_EQ(why.code(), code::resource_exhausted);
  EXPECT_NE(why.message().find("65537 tensors"), std::string::npos) << why.what();
}

// Answers each message with a longer one.
class long_answers final : public link_handler {
 public:
  explicit long_answers(std::weak_ptr<link> of) : link_(std::move(of)) {}
  void came(message) override {
    auto const l = link_.lock();
    most_unsent = std::max(most_unsent.load(), l->unsent().messages);
    l->send({.kind = message_kind::print, .body = std::string(length, 'x')});
  }
  void closed(failure) override {}
  static constexpr std::size_t length = 30000;
  std::atomic<std::uint64_t> most_unsent = 0;

 private:
  std::weak_ptr<link> link_;
};

TEST_P(links, take_no_more_questions_of_a_side_that_does_not_read_the_answers) {
  if (GetParam() >= carrier::tls) GTEST_SKIP() << "this is no socket as it is";
  int ends[2];
  ASSERT_TRUE(make_sockets(ends));
  all[0] = std::make_shared<link>(stream_of(ends[0]), net_options{}, std::make_shared<traffic_count>());
  auto const answers = std::make_shared<long_answers>(all[0]);
  asio::post(io, [&] {
    all[0]->trust({.incoming = {.bytes = 1 << 20, .share = 1 << 20}, .unread_when_it_asks = 1000});
    all[0]->start(answers);
  });
  work();
  constexpr int n = 1000;
  outgoing questions;
  for (int i = 0; i < n; ++i) questions.add(message{.kind = message_kind::pull});
  std::string asked;  // is sent at once, for a socket holds few pieces
  for (batch b; !questions.empty();) {
    questions.take(b, true);
    for (auto const& each : b.left()) asked.append(static_cast<char const*>(each.data()), each.size());
  }
  ASSERT_EQ(::send(ends[1], asked.data(), asked.size(), 0), static_cast<ssize_t>(asked.size()));
  std::string bytes(1 << 16, '\0');
  for (std::size_t came = 0; came < n * long_answers::length;) {  // now it reads
    auto const some = ::recv(ends[1], bytes.data(), bytes.size(), 0);
    ASSERT_GT(some, 0);
    came += static_cast<std::size_t>(some);
  }
  ::close(ends[1]);
  EXPECT_LE(answers->most_unsent, 1000u);
}

TEST_P(links, end_when_the_other_side_does_not_read_their_messages) {
  if (GetParam() >= carrier::tls) GTEST_SKIP() << "this is no socket as it is";
  int ends[2];
  ASSERT_TRUE(make_sockets(ends));
  boxes[0] = std::make_shared<mailbox>();
  all[0] = std::make_shared<link>(stream_of(ends[0]), net_options{}, std::make_shared<traffic_count>());
  std::promise<void> trusted;
  asio::post(io, [&] {
    all[0]->trust({.incoming = {.bytes = 1 << 20, .share = 1 << 20}, .unread = 1 << 20});
    all[0]->start(boxes[0]);
    trusted.set_value();
  });
  work();
  trusted.get_future().wait();
  for (int i = 0; i < 2000; ++i) all[0]->send({.kind = message_kind::print, .body = std::string(30000, 'x')});
  EXPECT_LE(all[0]->unsent().messages, std::uint64_t{2} << 20);
  EXPECT_EQ(boxes[0]->wait_for_end()->code(), code::resource_exhausted);
  ::close(ends[1]);
}

TEST_P(links, say_when_a_message_has_left) {
  connect();
  std::promise<void> small, large;
  auto const telling = [](std::promise<void>& p) { return std::shared_ptr<void>(&p, [&p](void*) { p.set_value(); }); };
  all[0]->send(parcel({.kind = message_kind::push, .tensors = {numbers(3 << 20)}}, telling(large)));
  all[0]->send(parcel({.kind = message_kind::pull}, telling(small)));
  EXPECT_EQ(small.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(large.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(all[0]->unsent().messages, 0u);
  EXPECT_EQ(all[0]->unsent().tensors, 0u);
}

TEST_P(links, give_up_a_side_that_says_nothing) {
  int ends[2];
  ASSERT_TRUE(make_sockets(ends));
  boxes[0] = std::make_shared<mailbox>();
  all[0] = std::make_shared<link>(stream_of(ends[0]), net_options{.heartbeat = 20ms, .silence = 100ms},
                                  std::make_shared<traffic_count>());
  asio::post(io, [this] { all[0]->start(boxes[0]); });
  thread = std::thread([this] { io.run(); });
  auto const why = boxes[0]->wait_for_end();
  EXPECT_EQ(why->code(), code::unavailable);
  EXPECT_NE(why->message().find("nothing was heard"), std::string::npos);
  ::close(ends[1]);
}

TEST_P(links, that_have_nothing_to_say_stay) {
  connect({.heartbeat = 10ms, .silence = 300ms});
  std::this_thread::sleep_for(700ms);
  all[0]->send({.kind = message_kind::pull, .body = "still there"});
  EXPECT_EQ(boxes[1]->take().body, "still there");
}

// More than 32 bits can count.
TEST_P(links, carry_tensors_of_more_than_4_gib) {
  if (std::getenv("RILL_TEST_ALL") == nullptr) GTEST_SKIP() << "takes 9 GiB of memory: set RILL_TEST_ALL";
  test::allow(600);
  connect();
  constexpr std::int64_t n = (std::int64_t{4} << 30) + 12345, apart = 4093;
  constexpr auto at = [](std::int64_t i) { return static_cast<std::uint8_t>(i * 31 % 251); };
  tensor large(dtype::uint8, shape{n});
  auto* const bytes = large.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < n; i += apart) bytes[i] = at(i);
  bytes[n - 1] = 77;
  all[0]->send({.kind = message_kind::push, .body = "large", .tensors = {std::move(large)}});
  all[0]->send({.kind = message_kind::pull, .body = "small"});
  EXPECT_EQ(boxes[1]->take(std::chrono::minutes(9)).body, "small");
  auto const came = boxes[1]->take(std::chrono::minutes(9));
  ASSERT_EQ(came.tensors.size(), 1u);
  ASSERT_EQ(came.tensors[0].shape(), shape{n});
  auto const* const there = came.tensors[0].data<std::uint8_t>();
  for (std::int64_t i = 0; i < n; i += apart) ASSERT_EQ(there[i], at(i)) << i;
  EXPECT_EQ(there[n - 1], 77);
}

auto const carriers = testing::Values(carrier::unix_socket, carrier::tcp4, carrier::tcp6, carrier::memory
#if RILL_TLS
                                      ,
                                      carrier::tls
#endif
#if RILL_UCX
                                      ,
                                      carrier::ucx
#endif
);
std::string name_of_carrier(testing::TestParamInfo<carrier> const& of) {
  constexpr char const* names[] = {"sockets", "tcp4", "tcp6", "tls", "memory", "ucx"};
  return names[static_cast<int>(of.param)];
}
INSTANTIATE_TEST_SUITE_P(over, links, carriers, name_of_carrier);

}  // namespace
}  // namespace rill::net
