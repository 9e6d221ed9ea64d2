#include "rill/base/c_locale.hpp"

#include <gtest/gtest.h>

#include <langinfo.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "foreign.hpp"
#include "rill/base/error.hpp"
#include "sentence.hpp"

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

// Messages that depend on the locale, as the system's do where their translations are installed.
struct translated : std::error_category {
  char const* name() const noexcept override { return "translated"; }
  std::string message(int) const override { return *::nl_langinfo(RADIXCHAR) == ',' ? "belegt" : "in use"; }
};

TEST(c_locale, has_what_an_error_of_the_system_says_in_english) {
  translated const category;
  std::error_code const in_use(1, category);
  std::filesystem::path const file("belegt.sock");
  auto const text = [&](auto const& e) { return system_text(e); };
  auto const expect_english = [&] {
    EXPECT_EQ(text(std::system_error(in_use, "bind")), "bind: in use");
    EXPECT_EQ(text(std::system_error(in_use)), "in use");
    auto const of_a_file = text(std::filesystem::filesystem_error("cannot open", file, in_use));
    EXPECT_NE(of_a_file.find("cannot open: in use"), std::string::npos) << of_a_file;
    EXPECT_NE(of_a_file.find("belegt.sock"), std::string::npos) << of_a_file;
    EXPECT_EQ(sentence([&] { only_errors([&] { throw std::system_error(in_use, "bind"); }); }),
              "unavailable: a system call failed: bind: in use");
  };
  expect_english();
  test::foreign const other("de_DE");
  if (!other) GTEST_SKIP() << "localedef can't make de_DE.UTF-8: is the package `locales` installed?";
  ASSERT_EQ(category.message(1), "belegt");
  expect_english();
}

}  // namespace
}  // namespace rill
