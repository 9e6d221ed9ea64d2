#include "rill/io/record_stream.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(record_stream, puts_its_place_before_the_sentence_of_an_error) {
  try {
    records::naming("a.txt", {120, 3}, [] { throw error(code::out_of_range, "it is too large"); });
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::out_of_range);
    EXPECT_EQ(e.message(), "'a.txt', record 4 at byte 120: it is too large");
  }
  EXPECT_EQ(records::naming("a.txt", {}, [] { return 7; }), 7);
}

}  // namespace
}  // namespace rill
