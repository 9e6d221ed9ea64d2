// Where a process listens, and where it can't.
#include "rill/net/listener.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include "base/sentence.hpp"
#include "net/names.hpp"
#include "net/served.hpp"

namespace rill::net {
namespace {

class listeners : public testing::Test {
 public:
  // A listener of a task that nobody asks for anything.
  std::shared_ptr<listener> made() {
    auto const of = served_task::make(std::promise<void>());
    of->net = net;
    of->others = std::make_shared<peers>(net, std::map<device_name, address>());
    of->steps = std::make_shared<step_table>(of->others);
    return std::make_shared<listener>(of);
  }
  address at(std::string const& name) const { return address::parse(folder.socket(name)); }

  test::socket_folder folder;
  std::shared_ptr<network> net = network::make({}, {});
};

TEST_F(listeners, take_over_a_socket_that_was_left_behind) {
  auto const where = at("s");
  int const file = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strcpy(name.sun_path, where.path.c_str());
  ASSERT_EQ(::bind(file, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ::close(file);
  ASSERT_TRUE(std::filesystem::is_socket(where.path));
  auto const l = made();
  EXPECT_EQ(l->listen(where), where);
  l->end();
  EXPECT_FALSE(std::filesystem::exists(where.path));
}

TEST_F(listeners, leave_a_socket_alone_at_which_another_listens) {
  auto const where = at("s");
  auto const first = made(), second = made();
  first->listen(where);
  auto const e = error_of([&] { second->listen(where); });
  EXPECT_EQ(e.code(), code::unavailable);
  EXPECT_EQ(e.message(), "no server can listen at " + where.text() + ": bind: Address already in use");
  second->end();
  EXPECT_TRUE(std::filesystem::is_socket(where.path)) << "it is the first one's";
  first->end();
}

TEST_F(listeners, leave_alone_a_file_that_is_no_socket) {
  auto const where = at("file");
  std::ofstream(where.path) << "mine";
  auto const l = made();
  EXPECT_EQ(refusal([&] { l->listen(where); }), code::unavailable);
  l->end();
  EXPECT_EQ(std::filesystem::file_size(where.path), 4u);
}

TEST_F(listeners, say_that_a_port_is_taken) {
  auto const first = made(), second = made();
  auto const where = first->listen(address::parse("127.0.0.1:0"));
  EXPECT_NE(where.port, 0);
  auto const e = error_of([&] { second->listen(where); });
  EXPECT_EQ(e.code(), code::unavailable);
  EXPECT_NE(e.message().find(where.text()), std::string::npos) << e.message();
  first->end();
  second->end();
}

TEST_F(listeners, take_the_first_address_of_a_name_that_this_machine_has) {
  auto const first = made(), second = made();
  auto const where = first->listen({.host = test::name_with({"192.0.2.1", "127.0.0.1", "127.0.0.2"}), .port = 0});
  EXPECT_NE(where.port, 0);
  auto const e = error_of([&] { second->listen({.host = "127.0.0.1", .port = where.port}); });
  EXPECT_EQ(e.code(), code::unavailable) << "the first listens there";
  first->end();
  second->end();
}

TEST_F(listeners, take_no_other_address_of_a_name_in_the_place_of_one_that_is_taken) {
  auto const first = made(), second = made();
  auto const where = first->listen(address::parse("127.0.0.1:0"));
  EXPECT_EQ(refusal([&] { second->listen({.host = test::name_with({"127.0.0.1", "127.0.0.2"}), .port = where.port}); }),
            code::unavailable);
  first->end();
  second->end();
}

TEST_F(listeners, leave_the_socket_alone_that_another_has_put_in_the_place_of_theirs) {
  auto const where = at("s");
  auto const first = made(), second = made();
  first->listen(where);
  std::filesystem::remove(where.path);
  second->listen(where);
  first->end();
  EXPECT_TRUE(std::filesystem::is_socket(where.path));
  second->end();
  EXPECT_FALSE(std::filesystem::exists(where.path));
}

TEST_F(listeners, say_that_an_address_is_none_of_this_machine) {
  auto const l = made();
  EXPECT_EQ(refusal([&] { l->listen(address::parse("192.0.2.1:7000")); }), code::unavailable);  // for documents alone
  EXPECT_EQ(refusal([&] { l->listen(address::parse("a..b:7000")); }), code::unavailable);
  l->end();
}

}  // namespace
}  // namespace rill::net
