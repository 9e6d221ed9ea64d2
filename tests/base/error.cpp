#include "rill/base/error.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>
#include <system_error>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(error, says_code_node_and_sentence) {
  error const e(code::not_found, "nothing is there", "a/b");
  EXPECT_STREQ(e.what(), "not_found: node 'a/b': nothing is there");
  EXPECT_EQ(e.code(), code::not_found);
  EXPECT_EQ(e.node(), "a/b");
  EXPECT_EQ(e.message(), "nothing is there");
}

TEST(error, leaves_the_node_out_where_there_is_none) {
  error const e(code::internal, "why");
  EXPECT_STREQ(e.what(), "internal: why");
  EXPECT_TRUE(e.node().empty());
}

TEST(error, says_on_which_device_it_was) {
  error const e(code::unavailable, "it was lost", "a/b", "/device:gpu:0");
  EXPECT_STREQ(e.what(), "unavailable: node 'a/b' on /device:gpu:0: it was lost");
  EXPECT_EQ(e.device(), "/device:gpu:0");
  EXPECT_STREQ(error(code::unavailable, "it was lost", "", "/device:gpu:0").what(),
               "unavailable: on /device:gpu:0: it was lost");
  EXPECT_TRUE(error(code::unavailable, "it was lost", "a/b").device().empty());
  EXPECT_TRUE(error::no_memory().device().empty());
}

TEST(error, can_be_shown_whatever_it_quotes) {
  using namespace std::string_literals;
  auto const sentence = "the name '\0\x1b[2J\xff' ends\0"s;
  error const e(code::data_loss, sentence);
  EXPECT_STREQ(e.what(), "data_loss: the name '\\x00\\x1b[2J\\xff' ends\\x00");
  EXPECT_EQ(e.message(), sentence);
}

TEST(error, has_a_cause_which_is_its_own_unless_that_is_said) {
  EXPECT_EQ(error(code::unavailable, "why").cause(), cause::own);
  EXPECT_EQ(error::no_memory().cause(), cause::own);
  error const e({code::unavailable, cause::lost}, std::string("why"), "a/b");
  EXPECT_EQ(e.cause(), cause::lost);
  EXPECT_STREQ(e.what(), "unavailable: node 'a/b': why");
  error const more(e.kind(), e.message() + ", on 'c'");
  EXPECT_EQ(more.code(), code::unavailable);
  EXPECT_EQ(more.cause(), cause::lost);
  EXPECT_EQ(failed({code::aborted, cause::derived}, {"a", "b"})->cause(), cause::derived);
  static_assert(name(cause::own) == "own" && name(cause::derived) == "derived");
}

TEST(error, has_a_name_for_every_code) {
  EXPECT_EQ(name(code::invalid_argument), "invalid_argument");
  EXPECT_EQ(name(code::internal), "internal");
  static_assert(name(code::data_loss) == "data_loss");
}

TEST(error, is_thrown_where_an_expectation_fails) {
  static_assert((expects(true, "fine"), true));
  EXPECT_NO_THROW(expects(true, "fine"));
  try {
    expects(false, "the sentence");
    FAIL();
  } catch (std::exception const& e) {
    EXPECT_STREQ(e.what(), "invalid_argument: the sentence");
  }
}

TEST(error, is_there_without_memory_too) {
  auto const e = error::no_memory();
  EXPECT_EQ(e.code(), code::resource_exhausted);
  EXPECT_EQ(e.message(), "no memory");
  EXPECT_STREQ(e.what(), "resource_exhausted: no memory");
  EXPECT_TRUE(e.node().empty());
  EXPECT_EQ(as_failure(e)->message(), "no memory");
}

TEST(error, takes_the_place_of_what_the_standard_library_throws_for_want_of_means) {
  EXPECT_EQ(only_errors([] { return 3; }), 3);
  EXPECT_EQ(refusal([] { only_errors([] { throw std::bad_alloc(); }); }), code::resource_exhausted);
  EXPECT_EQ(refusal([] { only_errors([] { std::string().reserve(SIZE_MAX); }); }), code::resource_exhausted);
  EXPECT_EQ(refusal([] { only_errors([] { throw std::system_error(std::make_error_code(std::errc::io_error)); }); }),
            code::unavailable);
  EXPECT_EQ(refusal([] { only_errors([] { throw error(code::data_loss, "as it is"); }); }), code::data_loss);
  EXPECT_THROW(only_errors([] { throw 1; }), int);  // a user's own
}

}  // namespace
}  // namespace rill
