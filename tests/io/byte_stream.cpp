#include "rill/io/byte_stream.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "scratch.hpp"

namespace rill {
namespace {

std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 200'000; ++i) text += std::to_string(i * 7) + ' ';
  return text;
}

std::string rest_of(byte_stream& s) {
  std::string out;
  s.append(out, max_file_bytes);
  return out;
}

TEST(byte_stream, gives_the_bytes_of_files_and_of_memory_plain_and_compressed) {
  scratch dir;
  for (auto const& text : {std::string(), std::string("a"), long_text()}) {
    write_file(dir / "plain", text);
    write_file(dir / "packed", gzip(text));
    for (auto const* name : {"plain", "packed"}) {
      byte_stream s(dir / name);
      EXPECT_EQ(s.compressed(), name == std::string("packed"));
      EXPECT_EQ(rest_of(s), text);
      EXPECT_EQ(s.position(), text.size());
      EXPECT_TRUE(s.ready().empty());
    }
    auto s = byte_stream::of(text);
    EXPECT_EQ(rest_of(s), text);
    auto packed = byte_stream::of(gzip(text));
    EXPECT_EQ(rest_of(packed), text);
  }
}

TEST(byte_stream, goes_to_any_position_and_back) {
  scratch dir;
  auto const text = long_text();
  write_file(dir / "plain", text);
  write_file(dir / "packed", gzip(text));
  for (auto const* name : {"plain", "packed"}) {
    byte_stream s(dir / name);
    for (std::uint64_t at : {150'000u, 10u, 11u, 70'000u, 0u, static_cast<unsigned>(text.size())}) {
      s.seek(at);
      EXPECT_EQ(s.position(), at);
      std::string some;
      EXPECT_EQ(s.append(some, 20), std::min<std::size_t>(20, text.size() - at));
      EXPECT_EQ(some, text.substr(at, 20));
    }
    EXPECT_EQ(refusal([&] { s.seek(text.size() + 1); }), code::data_loss);
  }
}

TEST(byte_stream, is_moved_with_all_that_it_has_read) {
  auto const text = long_text();
  for (auto const& bytes : {text, gzip(text), std::string("short"), gzip("short")}) {
    auto a = byte_stream::of(bytes);
    std::string start;
    a.append(start, 3);
    auto b = std::move(a);
    EXPECT_EQ(start + rest_of(b), bytes.size() < 100 ? "short" : text);
  }
}

TEST(byte_stream, reads_gzip_files_one_behind_the_other_wherever_blocks_end) {
  scratch dir;
  std::string bytes, want;
  for (unsigned i = 0; i < 3000; ++i) {
    auto const text = std::to_string(i * 2654435761u);
    bytes += gzip(text), want += text;
  }
  write_file(dir / "a", bytes);
  byte_stream s(dir / "a");
  EXPECT_EQ(rest_of(s), want);
}

TEST(byte_stream, says_when_a_file_became_shorter_or_is_damaged) {
  scratch dir;
  write_file(dir / "a", long_text());
  byte_stream s(dir / "a");
  s.take(s.ready().size());
  std::filesystem::resize_file(dir / "a", 70'000);
  EXPECT_EQ(refusal([&] { rest_of(s); }), code::data_loss);
  auto cut = byte_stream::of(gzip(long_text()).substr(0, 1000));
  EXPECT_EQ(refusal([&] { rest_of(cut); }), code::data_loss);
  EXPECT_EQ(refusal([&] { byte_stream(dir / "none"); }), code::not_found);
}

TEST(byte_stream, expands_what_is_small_to_what_is_large_in_little_memory) {
  auto s = byte_stream::of(gzip(std::string(20'000'000, 'x')));
  std::uint64_t n = 0;
  for (auto some = s.ready().size(); some != 0; some = s.ready().size()) {
    EXPECT_LE(some, 1u << 16);
    s.take(some), n += some;
  }
  EXPECT_EQ(n, 20'000'000u);
}

TEST(byte_stream, reads_what_is_no_regular_file) {
  byte_stream s("/dev/null");
  EXPECT_TRUE(s.ready().empty());
}

}  // namespace
}  // namespace rill
