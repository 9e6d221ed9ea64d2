#include "rill/version.hpp"

#include <gtest/gtest.h>

namespace {

TEST(version, is_ordered) {
  static_assert(rill::release{0, 1, 9} < rill::release{0, 2, 0});
  static_assert(rill::version >= rill::release{0, 1, 0});
  EXPECT_EQ(rill::version, (rill::release{RILL_VERSION_MAJOR, RILL_VERSION_MINOR, RILL_VERSION_PATCH}));
}

}  // namespace
