#include "rill/io/fixed_records.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "scratch.hpp"

namespace rill {
namespace {

using list = std::vector<std::string>;

list all_of(fixed_record_reader r) {
  list all;
  while (auto record = r.next()) all.push_back(*record);
  EXPECT_FALSE(r.next());
  return all;
}
list all_of(std::string const& bytes, fixed_record_options const& how) {
  auto const plain = all_of(fixed_record_reader(byte_stream::of(bytes), how));
  EXPECT_EQ(all_of(fixed_record_reader(byte_stream::of(gzip(bytes)), how)), plain);
  return plain;
}

TEST(fixed_records, skips_header_and_footer) {
  EXPECT_EQ(all_of("HHHaabbccFF", {2, 3, 2}), (list{"aa", "bb", "cc"}));
  EXPECT_EQ(all_of("aabb", {2, 0, 0}), (list{"aa", "bb"}));
  EXPECT_EQ(all_of("HF", {5, 1, 1}), list{});
  EXPECT_EQ(all_of("abFFFFF", {1, 0, 5}), (list{"a", "b"}));
  EXPECT_EQ(all_of("", {1, 0, 0}), list{});
}

TEST(fixed_records, resumes_at_every_record) {
  scratch dir;
  std::string bytes = "head";
  for (int i = 0; i < 50'000; ++i) bytes += {static_cast<char>(i), static_cast<char>(i >> 8), 'x'};
  write_file(dir / "a", bytes + "foot!");
  write_file(dir / "b", gzip(bytes + "foot!"));
  for (auto const* name : {"a", "b"}) {
    fixed_record_reader r(dir / name, {3, 4, 5});
    EXPECT_EQ(r.position(), (record_position{4, 0}));
    for (int i = 0; i < 30'000; ++i) r.next();
    auto const at = r.position();
    EXPECT_EQ(at, (record_position{90'004, 30'000}));
    auto const there = r.next();
    EXPECT_EQ(there, bytes.substr(90'004, 3));
    r.seek({4, 0});
    EXPECT_EQ(r.next(), bytes.substr(4, 3));
    r.seek(at);
    EXPECT_EQ(r.next(), there);
  }
}

TEST(fixed_records, says_where_a_record_is_cut_off) {
  fixed_record_reader r(byte_stream::of("HaabFF", "x.bin"), {2, 1, 2});
  EXPECT_EQ(r.next(), "aa");
  for (int again = 0; again < 2; ++again) try {
      r.next();
      FAIL();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::data_loss);
      EXPECT_EQ(e.message(),
                "'x.bin', record 2 at byte 3: the file ends 3 bytes after the start of a record of 2 bytes, before a "
                "footer of "
                "2");
    }
}

TEST(fixed_records, refuses_files_without_room_for_header_and_footer) {
  EXPECT_EQ(refusal([] { fixed_record_reader(byte_stream::of("ab"), {1, 3, 0}).next(); }), code::data_loss);
  EXPECT_EQ(refusal([] { fixed_record_reader(byte_stream::of("abc"), {1, 1, 3}).next(); }), code::data_loss);
  EXPECT_EQ(refusal([] { fixed_record_reader(byte_stream::of("abc"), {0, 0, 0}); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
