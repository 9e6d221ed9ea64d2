// Memory that two processes share, whatever the other side writes there. link.cpp has messages over it.
#include "rill/net/shared_memory.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/sentence.hpp"
#include "net/served.hpp"

namespace rill::net {
namespace {

// Two ends in this process.
class memory : public testing::Test {
 public:
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (int i = 0; i < 2; ++i)
      sides[i] = std::make_unique<memory_stream>(stream_socket(io, {AF_UNIX, 0}, ends[i]), shared, i == 0);
  }
  std::size_t write(int side, std::string const& text) {
    asio::const_buffer const all[] = {asio::buffer(text)};
    return sides[side]->write(all, error);
  }
  // Reads until all of `n` bytes are there, or the stream has ended.
  std::string read(int side, std::size_t n) {
    std::string all(n, '\0');
    std::size_t have = 0;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
          while (have < n) have += co_await sides[side]->read(asio::buffer(all.data() + have, n - have));
        },
        [&](std::exception_ptr e) { failed = e; });
    io.restart();
    io.run();
    all.resize(have);
    return all;
  }

  asio::io_context io;
  int ends[2] = {};
  descriptor shared = shared_rings::make();
  std::unique_ptr<memory_stream> sides[2];
  std::error_code error;
  std::exception_ptr failed;
};

TEST_F(memory, takes_as_much_as_there_is_room_for_and_goes_round) {
  std::string text(700000, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 251);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(write(0, text), text.size());
    EXPECT_EQ(write(0, text), shared_rings::capacity - text.size());
    EXPECT_EQ(read(1, text.size()), text);
    EXPECT_EQ(read(1, shared_rings::capacity - text.size()), text.substr(0, shared_rings::capacity - text.size()));
  }
  EXPECT_FALSE(error);
}

TEST_F(memory, what_was_written_before_the_end_is_read) {
  write(0, "the last words");
  sides[0]->close();
  EXPECT_EQ(read(1, 100), "the last words");
  EXPECT_THROW(std::rethrow_exception(failed), std::system_error);
}

TEST_F(memory, positions_that_can_not_be_end_the_connection) {
  shared_rings mine(shared);
  mine.head_of(0).written.store(shared_rings::capacity + 1);
  read(1, 1);
  EXPECT_EQ(refusal([&] { std::rethrow_exception(failed); }), code::data_loss);
  mine.head_of(1).read.store(5);  // more than was written
  EXPECT_EQ(write(1, "x"), 0u);
  EXPECT_TRUE(error);
}

TEST(shared_rings, refuse_memory_that_can_be_cut_off) {
  descriptor const file(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096 + 2 * shared_rings::capacity), 0);
  EXPECT_EQ(refusal([&] { shared_rings r(file); }), code::data_loss);
  EXPECT_EQ(refusal([&] { shared_rings r(descriptor(::open("/dev/null", O_RDWR))); }), code::data_loss);
}

TEST(shared_memory, a_stranger_that_offers_none_is_hung_up_on) {
  auto options = test::quick();
  options.connect_timeout = std::chrono::seconds(2);  // after which a stranger is given up
  test::served_cluster c({{"worker", 2}}, test::served_cluster::with(options));
  asio::io_context io;
  std::vector<stream_socket> several;
  for (auto const* text : {"", "x", "many bytes, but no memory"}) {
    auto& s = several.emplace_back(io);
    s.connect(memory_endpoint(address::parse(c.address(0))));
    asio::write(s, asio::buffer(text, std::strlen(text)));
  }
  auto& s = several.emplace_back(io);
  s.connect(memory_endpoint(address::parse(c.address(0))));
  send_descriptor(s, descriptor(::open("/dev/null", O_RDONLY)));
  for (auto& each : several) {
    std::error_code e;
    std::string all;
    EXPECT_EQ(asio::read(each, asio::dynamic_buffer(all), e), 0u);
  }
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = g.on("/job:worker/task:1", [&] { return x * 2.f; });
  session run{g, c[0].target()};
  EXPECT_EQ(float(run.run({{x, 3.f}}, y)), 6);
}

}  // namespace
}  // namespace rill::net
