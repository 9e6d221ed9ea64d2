#include "rill/base/expected.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(expected, has_a_value_or_throws_the_error) {
  expected<std::string> there(std::string("text")), missing(failed(code::not_found, "none"));
  EXPECT_TRUE(there);
  EXPECT_EQ(there.value(), "text");
  EXPECT_EQ(there->size(), 4u);
  EXPECT_EQ(*std::as_const(there), "text");
  EXPECT_FALSE(missing.has_value());
  EXPECT_EQ(sentence([&] { missing.value(); }), "not_found: none");
  EXPECT_EQ(missing.error().code(), code::not_found);
}

TEST(expected, moves_its_value_out) {
  expected<std::unique_ptr<int>> there(std::make_unique<int>(3));
  auto const mine = std::move(there).value();
  EXPECT_EQ(*mine, 3);
  EXPECT_EQ(*there, nullptr);
}

TEST(expected, of_nothing_is_a_success_or_an_error) {
  expected<void> const there, missing(failed(code::not_found, "none"));
  EXPECT_TRUE(there);
  EXPECT_NO_THROW(there.value());
  EXPECT_EQ(sentence([&] { missing.value(); }), "not_found: none");
  EXPECT_EQ(missing.error().message(), "none");
}

}  // namespace
}  // namespace rill
