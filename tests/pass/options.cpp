#include "rill/pass/options.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(pass_options, switch_everything_off_at_once) {
  auto const o = pass_options::none();
  EXPECT_FALSE(o.common_subexpressions || o.fold_constants || o.identities || o.fuse || o.functions || o.verify);
}

TEST(pass_report, is_a_line_for_each_rewrite) {
  EXPECT_EQ(pass_report{}.text(), "");
  EXPECT_EQ((pass_report{.lines = {"a", "b"}}).text(), "a\nb\n");
}

}  // namespace
}  // namespace rill
