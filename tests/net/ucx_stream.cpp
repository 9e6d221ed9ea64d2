// Connections by UCX. link.cpp has messages over them.
#include "rill/net/ucx_stream.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/sentence.hpp"
#include "net/quiet_ucx.hpp"
#include "net/served.hpp"
#include "rill/net/frame.hpp"

namespace rill::net {
namespace {

using namespace std::chrono_literals;

TEST(ucx, encrypts_nothing_so_a_key_refuses_it) {
  server_options options = test::served_cluster::with(test::quick());
  options.net.ucx = options.trusted_network = true;
  options.key = shared_key::parse("rill-key k task " + std::string(64, '1'));
  rill::cluster c{.jobs = {{.name = "worker", .addresses = {"127.0.0.1:0"}}},
                  .task = device_name::parse("/job:worker/task:0")};
  EXPECT_NE(sentence([&] { server s(c, options); }).find("encrypts nothing"), std::string::npos);
}

#if RILL_UCX

net_options over_ucx(bool is_on = true) {
  auto options = test::quick();
  options.shared_memory = false;
  options.ucx = is_on;
  return options;
}
std::unique_ptr<server> serve(bool by_ucx, bool is_trusted = true) {
  auto options = test::served_cluster::with(over_ucx(by_ucx));
  options.trusted_network = is_trusted;
  return std::make_unique<server>(rill::cluster{.jobs = {{.name = "worker", .addresses = {"127.0.0.1:0"}}},
                                                .task = device_name::parse("/job:worker/task:0")},
                                  options);
}
std::string address_of(server const& s) { return s.cluster().jobs[0].addresses[0]; }
stream_socket raw_client(asio::io_context& io, server const& s) {
  stream_socket made(io);
  made.connect(asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), address::parse(address_of(s)).port));
  return made;
}

// Small and large values there and back.
void expect_steps(server const& s, bool by_ucx) {
  graph g;
  auto const x = placeholder<float, unknown>(g, "x");
  session run{g, connect(address_of(s), over_ucx(by_ucx))};
  for (std::int64_t n : {1, 100, 3000000, 5}) {
    tensor const y =
        run.run({{x, tensor::adopt(std::vector<float>(static_cast<std::size_t>(n), 2.f), shape{n})}}, x + 1.f);
    ASSERT_EQ(y.type().shape(), shape{n});
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(y.data<float>()[i], 3.f) << i;
  }
}

TEST(ucx, opens_ports_so_a_server_must_trust_its_network) {
  EXPECT_NE(sentence([] { serve(true, false); }).find("trusted_network"), std::string::npos);
}

TEST(ucx, carries_steps) { expect_steps(*serve(true), true); }

TEST(ucx, processes_that_do_not_both_have_it_use_a_socket) {
  expect_steps(*serve(false), true);
  expect_steps(*serve(true), false);
}

TEST(ucx, is_offered_by_who_connects) {
  asio::io_context io;
  asio::ip::tcp::acceptor at(io, {asio::ip::address_v4::loopback(), 0});
  auto const where = "127.0.0.1:" + std::to_string(at.local_endpoint().port());
  std::string first(8, '\0');
  std::thread other([&] {
    std::error_code e;
    auto s = at.accept(e);
    asio::read(s, asio::buffer(first), e);
    at.close(e);  // what follows is refused
  });
  auto options = over_ucx();
  options.start_timeout = 300ms;  // the attempt that is under way then is finished
  EXPECT_EQ(refusal([&] { connect(where, options); }), code::unavailable);
  other.join();
  EXPECT_EQ(first, "rill-ucx");
}

// It says that it is there before the offer comes, if that takes long.
TEST(ucx, is_not_offered_again_to_a_process_that_says_something_else) {
  asio::io_context io;
  asio::ip::tcp::acceptor at(io, {asio::ip::address_v4::loopback(), 0});
  auto const end = at.local_endpoint();
  std::string second(8, '\0');
  std::thread other([&] {
    std::error_code e;
    {
      auto s = at.accept(e);
      asio::write(s, asio::buffer(text_of({.kind = frame_kind::beat})), e);
      std::string offer;
      asio::read(s, asio::dynamic_buffer(offer), e);
    }
    auto s = at.accept(e);
    asio::read(s, asio::buffer(second), e);
    at.close(e);
  });
  auto options = over_ucx();
  options.start_timeout = 300ms;
  EXPECT_EQ(refusal([&] { connect("127.0.0.1:" + std::to_string(end.port()), options); }), code::unavailable);
  {
    std::error_code e;
    asio::ip::tcp::socket(io).connect(end, e);  // ends the thread if nobody else does
  }
  other.join();
  EXPECT_NE(second, std::string(8, '\0'));
  EXPECT_NE(second, "rill-ucx");
}

TEST(ucx, is_taken_by_who_listens_and_nonsense_is_hung_up_on) {
  auto const s = serve(true);
  asio::io_context io;
  for (std::uint32_t bytes : {0u, 1u << 20}) {
    auto client = raw_client(io, *s);
    std::string text = "rill-ucx";
    text.append(reinterpret_cast<char const*>(&bytes), sizeof bytes);
    asio::write(client, asio::buffer(text));
    std::error_code e;
    std::string all;
    asio::read(client, asio::dynamic_buffer(all), e);
    EXPECT_TRUE(e);
    EXPECT_EQ(all, "");
  }
  auto client = raw_client(io, *s);
  detail::ucx_end end;
  auto const at = end.address();
  auto const n = static_cast<std::uint32_t>(at.size());
  std::string text = "rill-ucx";
  text.append(reinterpret_cast<char const*>(&n), sizeof n).append(at);
  for (auto part : {text.substr(0, 3), text.substr(3, 20), text.substr(23)}) {
    asio::write(client, asio::buffer(part));
    std::this_thread::sleep_for(5ms);
  }
  std::string answer(8, '\0');
  asio::read(client, asio::buffer(answer));
  EXPECT_EQ(answer, "rill-ucx");
  expect_steps(*s, true);
}

TEST(ucx, a_process_that_ends_is_missed_before_the_deadline) {
  auto s = serve(true);
  graph g;
  auto const x = placeholder<float>(g, "x");
  session run{g, connect(address_of(*s), over_ucx())};
  EXPECT_EQ(float(run.run({{x, 1.f}}, x + 1.f)), 2);
  s.reset();
  EXPECT_EQ(refusal([&] { run.run({{x, 1.f}}, x + 1.f, timeout(55s)); }), code::unavailable);
}

#else

TEST(ucx, is_refused_by_programs_that_were_built_without_it) {
  auto options = test::quick();
  options.ucx = true;
  EXPECT_NE(sentence([&] { connect("127.0.0.1:1", options); }).find("libucx-dev"), std::string::npos);
}

#endif

}  // namespace
}  // namespace rill::net
