#include "rill/io/zip.hpp"

#include <gtest/gtest.h>

#include "rill/io/zip_writer.hpp"
#include "scratch.hpp"

namespace rill {
namespace {

/// An archive of two members; Zip64 from `limit` on.
std::string two(std::uint32_t limit = zip::full) {
  std::string bytes;
  zip::writer w([&](std::string_view piece) { bytes += piece; }, limit);
  w.add("one", "hello ", "world");
  w.add("two", "", "");
  w.finish();
  return bytes;
}

void expect_two(std::string const& bytes) {
  auto const m = zip::members(bytes);
  std::string room;
  ASSERT_EQ(m.size(), 2u);
  EXPECT_EQ(m[0].name, "one");
  EXPECT_EQ(zip::contents(m[0], room), "hello world");
  EXPECT_EQ(zip::contents(m[1], room), "");
}

std::string replaced(std::string s, std::string const& from, std::string const& to) {
  for (auto at = s.find(from); at != s.npos; at = s.find(from, at + to.size())) s.replace(at, from.size(), to);
  return s;
}

TEST(zip, returns_the_members_that_it_wrote) { expect_two(two()); }

TEST(zip, writes_and_reads_large_numbers_as_zip64) {
  for (std::uint32_t limit : {1u, 5u, 12u, 50u}) expect_two(two(limit));
  EXPECT_GT(two(1).size(), two().size());
}

TEST(zip, finds_the_end_record_before_a_comment) {
  auto bytes = two();
  bytes[bytes.size() - 2] = 9;
  expect_two(bytes + "a comment");
  EXPECT_EQ(refusal([&] { zip::members(bytes); }), code::invalid_argument);
}

TEST(zip, refuses_members_of_one_name) {
  EXPECT_EQ(refusal([] { zip::members(replaced(two(), "two", "one")); }), code::data_loss);
}

TEST(zip, refuses_members_that_overlap) {
  auto bytes = two();
  auto const last = bytes.rfind("PK\1\2");
  bytes.replace(last + 42, 4, 4, '\0');
  EXPECT_EQ(refusal([&] { zip::members(replaced(bytes, "two", "one")); }), code::data_loss);
  auto longer = two();
  auto const second = longer.rfind("PK\1\2");
  longer[second + 20] = longer[second + 24] = 10;
  EXPECT_EQ(refusal([&] { zip::members(longer); }), code::data_loss);
}

TEST(zip, refuses_names_that_lead_elsewhere) {
  for (auto const* name : {"/ab", "../", "a\\b"})
    EXPECT_EQ(refusal([&] { zip::members(replaced(two(), "two", name)); }), code::invalid_argument) << name;
  for (auto const* name : {"", "/a", "..", "a/..", "../a", "a/../b", "a\\b"})
    EXPECT_EQ(refusal([&] { zip::check_name(name); }), code::invalid_argument) << name;
  for (auto const* name : {"a", "..a", "a/b", "a..", "a.b/.c"}) EXPECT_NO_THROW(zip::check_name(name)) << name;
}

TEST(zip, refuses_to_expand_to_more_than_deflate_can) {
  zip::member m{"bomb", zip::deflated, 0, std::uint64_t{1} << 40, 0, "abc"};
  std::string room;
  EXPECT_EQ(refusal([&] { zip::contents(m, room); }), code::data_loss);
  EXPECT_LT(room.capacity(), 1000u);
}

TEST(zip, expands_to_exactly_the_size_that_it_was_told) {
  auto const small = deflate::compress("hello", deflate::form::raw);
  std::string room;
  zip::member m{"a", zip::deflated, crc32("hello"), 5, 0, small};
  EXPECT_EQ(zip::contents(m, room), "hello");
  for (std::uint64_t size : {0u, 4u, 6u}) {
    m.size = size;
    EXPECT_EQ(refusal([&] { zip::contents(m, room); }), code::data_loss) << size;
  }
}

TEST(zip, notices_every_lost_byte) {
  for (auto const& bytes : {two(), two(1)})
    EXPECT_GE(damage(bytes,
                     [](auto const& b) {
                       std::string room;
                       for (auto const& m : zip::members(b)) zip::contents(m, room);
                     }),
              bytes.size());
}

}  // namespace
}  // namespace rill
