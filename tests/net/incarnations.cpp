#include "rill/net/incarnations.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill::net {
namespace {

device_name const ps = device_name::parse("/job:ps/task:0"), worker = device_name::parse("/job:worker/task:0");

TEST(incarnations, a_process_takes_the_place_of_another) {
  incarnations all;
  EXPECT_FALSE(all.greet(ps, 1));
  EXPECT_FALSE(all.greet(worker, 2));
  EXPECT_FALSE(all.greet(ps, 1)) << "it has another connection";
  EXPECT_TRUE(all.greet(ps, 3));
  EXPECT_FALSE(all.greet(ps, 3));
  EXPECT_FALSE(all.greet(worker, 2));
}

TEST(incarnations, a_process_that_was_replaced_is_refused) {
  incarnations all;
  all.greet(ps, 1);
  all.greet(ps, 3);
  auto const text = sentence([&] { all.greet(ps, 1); });
  EXPECT_NE(text.find("another process has become /job:ps/task:0"), std::string::npos) << text;
  EXPECT_FALSE(all.greet(ps, 3));
}

}  // namespace
}  // namespace rill::net
