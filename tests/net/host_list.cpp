#include "rill/net/host_list.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill::net {
namespace {

using list = std::vector<std::string>;

TEST(host_list, is_expanded_in_its_order) {
  EXPECT_EQ(read_host_list("vm"), list{"vm"});
  EXPECT_EQ(read_host_list("n[1-3,07],m5"), (list{"n1", "n2", "n3", "n07", "m5"}));
  EXPECT_EQ(read_host_list("a,b-2.example"), (list{"a", "b-2.example"}));
}

TEST(host_list, keeps_leading_zeros) {
  EXPECT_EQ(read_host_list("n[008-011]"), (list{"n008", "n009", "n010", "n011"}));
  EXPECT_EQ(read_host_list("n[9-10]"), (list{"n9", "n10"}));
}

TEST(host_list, has_several_brackets_in_a_name) {
  EXPECT_EQ(read_host_list("rack[0-1]n[1,3]-ib"), (list{"rack0n1-ib", "rack0n3-ib", "rack1n1-ib", "rack1n3-ib"}));
}

TEST(host_list, that_is_none_is_refused) {
  for (auto const* text : {"", ",", "a,", "n[", "n]", "n]m[1]", "n[]", "n[3-1]", "n[1-]", "n[x]", "n[1,,2]",
                           "n[0-65536]", "n[0-999][0-999]", "n[9999999999]"})
    EXPECT_EQ(refusal([&] { (void)read_host_list(text); }), code::invalid_argument) << text;
}

}  // namespace
}  // namespace rill::net
