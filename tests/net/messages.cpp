// Bodies of messages, and bytes that are none.
#include "rill/net/messages.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/sentence.hpp"

namespace rill::net {
namespace {

template <class Body> Body read_again(std::string const& bytes) {
  Body b;
  read_body(bytes, b);
  return b;
}

// Calls `f` with a body of each kind that has something in it.
void for_each_body(auto const& f) {
  hello_body hello{.kernels = "x86-64-v3", .process = 7, .task = device_name::parse("/job:ps/task:0")};
  hello.devices = {device_name::parse("/job:ps/task:0/device:cpu:0")};
  hello.tasks = {hello.task, device_name::parse("/job:ps/task:1")};
  hello.addresses = {"127.0.0.1:7000", "unix:/tmp/x"};
  f(hello);
  f(error_body{.call = 1, .code = 2, .cause = 1, .message = "why", .node = "node"});
  f(values_body{.call = 1, .variables = {"a", "b"}});
  f(add_body{.call = 1, .share = 2, .bytes = "a share"});
  f(share_body{.share = 2});
  f(run_body{.call = 1, .share = 2, .step = {3, 4}, .oldest = 5, .number = 6, .time_left = 7, .watched = true});
  f(call_body{.call = 1});
  f(forget_body{.step = {1, 2}});
  f(explain_body{.call = 1, .share = 2, .stages = 3});
  f(pull_body{.call = 1, .step = {2, 3}, .key = {4, 5}});
  f(took_body{.call = 1, .step = {2, 3}, .edge = 4, .values = 5});
  f(push_body{.step = {1, 2}, .key = {3, 4}});
  f(ran_body{.call = 1, .step = 2, .nodes = {{"n", "add", 3, 4}, {"m", "mul", 5, 6}}});
  f(print_body{.call = 1, .line = "a line"});
}

TEST(messages, have_bodies_that_are_read_as_they_were_written) {
  for_each_body([]<class Body>(Body const& b) {
    auto const bytes = body_of(b);
    EXPECT_EQ(body_of(read_again<Body>(bytes)), bytes);
  });
}

TEST(messages, that_end_too_early_or_too_late_are_refused) {
  for_each_body([]<class Body>(Body const& b) {
    auto const bytes = body_of(b);
    for (std::size_t n = 0; n < bytes.size(); ++n)
      EXPECT_EQ(refusal([&] { (void)read_again<Body>(bytes.substr(0, n)); }), code::data_loss) << n;
    EXPECT_EQ(refusal([&] { (void)read_again<Body>(bytes + "x"); }), code::data_loss);
  });
}

TEST(messages, with_any_bit_changed_are_refused_or_are_others) {
  for_each_body([]<class Body>(Body const& b) {
    auto const bytes = body_of(b);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      auto changed = bytes;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
      std::string once;
      try {
        once = body_of(read_again<Body>(changed));
      } catch (error const&) {
        continue;  // and any other exception fails the test
      }
      EXPECT_EQ(body_of(read_again<Body>(once)), once) << bit;
    }
  });
}

TEST(messages, say_errors_as_they_were) {
  error const e({code::not_found, cause::lost}, std::string("it is not there"), "a node");
  auto const again = as_error(read_again<error_body>(body_of(as_body(3, e))));
  EXPECT_EQ(again.code(), e.code());
  EXPECT_EQ(again.cause(), e.cause());
  EXPECT_EQ(again.message(), e.message());
  EXPECT_EQ(again.node(), e.node());
  auto const later = as_error({.code = 200, .cause = 200, .message = "of a later version"});
  EXPECT_EQ(later.code(), code::internal);
  EXPECT_EQ(later.cause(), cause::own);
}

TEST(messages, belong_to_the_call_whose_number_they_begin_with) {
  EXPECT_EQ(call_of({.body = body_of(print_body{.call = 77, .line = "x"})}), 77u);
  EXPECT_EQ(refusal([] { (void)call_of({.body = "short"}); }), code::data_loss);
}

}  // namespace
}  // namespace rill::net
