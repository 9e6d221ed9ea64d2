#include "rill/state/containers.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(containers, keep_their_own_things_under_the_same_names) {
  containers all;
  auto const a = all.named("a"), unnamed = all.named();
  EXPECT_EQ(all.named("a"), a);
  EXPECT_EQ(all.named(""), unnamed);
  EXPECT_NE(a->variable("v", of<float>), unnamed->variable("v", of<float>));
  EXPECT_EQ(all.names(), (std::vector<std::string>{"", "a"}));
}

TEST(containers, are_reset_one_by_one_or_all) {
  containers all;
  auto const give = [&](char const* name) {
    auto const v = all.named(name)->variable("v", of<float>);
    v->assign(tensor(1.f));
    return v;
  };
  auto const a = give("a"), b = give("b");
  all.reset("a");
  EXPECT_FALSE(a->initialized());
  EXPECT_TRUE(b->initialized());
  give("a");
  all.reset();
  EXPECT_FALSE(a->initialized());
  EXPECT_FALSE(b->initialized());
  EXPECT_EQ(refusal([&] { all.reset("c"); }), code::not_found);
}

}  // namespace
}  // namespace rill
