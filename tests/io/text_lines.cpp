#include "rill/io/text_lines.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "scratch.hpp"

namespace rill {
namespace {

std::vector<std::string> lines(std::string const& text) {
  text_line_reader r(byte_stream::of(text));
  std::vector<std::string> all;
  while (auto line = r.next()) all.push_back(*line);
  return all;
}
using list = std::vector<std::string>;

TEST(text_lines, ends_lines_with_lf_crlf_and_the_end_of_the_file) {
  EXPECT_EQ(lines("a\nb\r\n\nc"), (list{"a", "b", "", "c"}));
  EXPECT_EQ(lines("a\n"), (list{"a"}));
  EXPECT_EQ(lines("\r\n\r\n"), (list{"", ""}));
  EXPECT_EQ(lines("a\rb\r"), (list{"a\rb\r"}));
  EXPECT_EQ(lines(""), list{});
}

TEST(text_lines, joins_lines_across_blocks_and_resumes) {
  scratch dir;
  std::string text;
  list want;
  for (std::size_t i = 0; i < 60; ++i) text += want.emplace_back(i * 97 % 7000, 'x') + "\r\n";
  write_file(dir / "a", text);
  write_file(dir / "b", gzip(text));
  for (auto const* name : {"a", "b"}) {
    text_line_reader r(dir / name);
    std::vector<record_position> at;
    for (auto const& each : want) {
      at.push_back(r.position());
      EXPECT_EQ(r.next(), each);
    }
    EXPECT_FALSE(r.next());
    EXPECT_FALSE(r.next());
    for (std::size_t i : {59u, 3u, 40u}) {
      r.seek(at[i]);
      EXPECT_EQ(r.next(), want[i]);
      EXPECT_EQ(r.position().record, i + 1);
    }
  }
}

TEST(text_lines, refuses_a_line_beyond_the_bound) {
  std::string text = "abc\n";
  text.append(100'000, 'x');
  text_line_reader r(byte_stream::of(text), 1000);
  EXPECT_EQ(r.next(), "abc");
  EXPECT_EQ(refusal([&] { r.next(); }), code::resource_exhausted);
}

}  // namespace
}  // namespace rill
