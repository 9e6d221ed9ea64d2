#include "rill/base/c_locale.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "foreign.hpp"

namespace rill {
namespace {

TEST(c_locale, is_the_calling_threads_alone_and_ends_with_the_scope) {
  test::foreign const german("de_DE");
  if (!german) GTEST_SKIP() << "localedef can't make de_DE.UTF-8 here: is the package `locales` installed?";
  EXPECT_EQ(std::strtod("1,5", nullptr), 1.5);
  {
    c_locale const english;
    EXPECT_EQ(std::strtod("1.5", nullptr), 1.5);
    std::jthread([] { EXPECT_EQ(std::strtod("1,5", nullptr), 1.5); });
    {
      c_locale const again;
    }
    EXPECT_EQ(std::strtod("1.5", nullptr), 1.5);
  }
  EXPECT_EQ(std::strtod("1,5", nullptr), 1.5);
}

TEST(c_locale, has_the_systems_messages_in_english) {
  test::foreign const german("de_DE");
  EXPECT_EQ(system_message({ENOENT, std::generic_category()}), "No such file or directory");
}

}  // namespace
}  // namespace rill
