#include "rill/net/address.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(address, is_read_and_written) {
  for (auto const* text : {"127.0.0.1:7000", "[::1]:7000", "host.example:0", "unix:/tmp/socket"})
    EXPECT_EQ(address::parse(text).text(), text);
  EXPECT_EQ(address::parse("[::1]:7000").host, "::1");
}

TEST(address, of_this_machine_alone_is_known_as_such) {
  for (auto const* text : {"127.0.0.1:1", "127.3.2.1:1", "[::1]:1", "localhost:1", "unix:x"})
    EXPECT_TRUE(address::parse(text).is_local()) << text;
  for (auto const* text : {"0.0.0.0:1", "127.example.com:1", "[::]:1", "10.0.0.1:1", "host:1"})
    EXPECT_FALSE(address::parse(text).is_local()) << text;
}

TEST(address, that_is_none_is_refused) {
  for (auto const* text :
       {"", "host", ":7000", "host:", "host:x", "host:65536", "host:123456", "::1:7000", "a b:1", "unix:", "a/b:1"})
    EXPECT_EQ(refusal([&] { (void)address::parse(text); }), code::invalid_argument) << text;
  EXPECT_EQ(refusal([] { (void)address::parse("unix:" + std::string(200, 'x')); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
