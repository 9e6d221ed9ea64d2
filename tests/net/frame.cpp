#include "rill/net/frame.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/sentence.hpp"

namespace rill::net {
namespace {

TEST(frame, heads_are_written_and_read) {
  frame_head const h{.bytes = 7, .kind = frame_kind::whole, .message = 3, .stream = 99};
  auto const again = head_of(text_of(h).data());
  EXPECT_EQ(again.bytes, 7u);
  EXPECT_EQ(again.kind, frame_kind::whole);
  EXPECT_EQ(again.message, 3);
  EXPECT_EQ(again.stream, 99u);
}

TEST(frame, heads_that_are_none_are_refused) {
  auto const refused = [](frame_head const& h) { return refusal([&] { (void)head_of(text_of(h).data()); }); };
  EXPECT_EQ(refused({.bytes = most_whole + 1, .kind = frame_kind::whole}), code::data_loss);
  EXPECT_EQ(refused({.bytes = most_chunk + 1, .kind = frame_kind::chunk}), code::data_loss);
  EXPECT_EQ(refused({.bytes = 9, .kind = frame_kind::long_}), code::data_loss);
  EXPECT_EQ(refused({.bytes = 1, .kind = frame_kind::beat}), code::data_loss);
  EXPECT_EQ(refused({.kind = static_cast<frame_kind>(4)}), code::data_loss);
  EXPECT_EQ(refused({.message = message_kinds}), code::data_loss);
  EXPECT_EQ(refused({.zero = 1}), code::data_loss);
}

TEST(frame, descriptions_are_written_and_read) {
  std::string const small(24 + 40, 'x');
  auto const text = described({{dtype::float32, extents{2, 3}, 24},
                               {dtype::string, extents{2}, 40},
                               {dtype::float32, extents{1000}, 4000}},  // which comes in a stream
                              small, "what it says");
  auto const [notes, bytes, body] = read_description(text);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[1].element, dtype::string);
  EXPECT_EQ(notes[1].bytes, 40u);
  EXPECT_EQ(bytes, small);
  EXPECT_EQ(body, "what it says");
}

TEST(frame, a_message_that_ends_within_a_small_tensor_is_refused) {
  auto const text = described({{dtype::float32, extents{2, 3}, 24}}, std::string(23, 'x'), "");
  EXPECT_EQ(refusal([&] { (void)read_description(text); }), code::data_loss);
}

TEST(frame, a_tensor_of_other_bytes_than_its_extents_is_refused) {
  auto const refused = [](tensor_note const& n) {
    return refusal([&] { (void)read_description(described({n}, std::string(64, 'x'), "")); });
  };
  EXPECT_EQ(refused({dtype::float32, extents{2}, 4}), code::data_loss);
  EXPECT_EQ(refused({dtype::float32, extents{-1}, 4}), code::data_loss);
  EXPECT_EQ(refused({dtype::float32, extents{std::int64_t{1} << 40, std::int64_t{1} << 40}, 0}), code::data_loss);
  EXPECT_EQ(refused({dtype::string, extents{3}, 16}), code::data_loss);
}

TEST(frame, strings_are_joined_and_divided) {
  auto const words = tensor::adopt(std::vector<std::string>{"", "one", "two"}, shape{3});
  tensor again(dtype::string, shape{3});
  divide(joined(words), again);
  EXPECT_TRUE(same_bits(words, again));
  EXPECT_EQ(refusal([&] { divide(joined(words) + "x", again); }), code::data_loss);
  EXPECT_EQ(refusal([&] { divide("x", again); }), code::data_loss);
}

}  // namespace
}  // namespace rill::net
