#include "rill/io/example.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "rill/io/tfrecord.hpp"
#include "scratch.hpp"

namespace rill {
namespace {

/// What TensorFlow 2.21 serialises, deterministically, for the features below.
std::string const recorded(
    "\x0a\x63\x0a\x09\x0a\x05\x65\x6d\x70\x74\x79\x12\x00\x0a\x18\x0a\x05\x6c\x61\x62\x65\x6c\x12\x0f\x1a\x0d\x0a\x0b"
    "\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x0a\x14\x0a\x04\x6e\x61\x6d\x65\x12\x0c\x0a\x0a\x0a\x02\x61\x62\x0a"
    "\x00\x0a\x02\x00\xff\x0a\x0a\x0a\x04\x6e\x6f\x6e\x65\x12\x02\x12\x00\x0a\x1a\x0a\x06\x70\x69\x78\x65\x6c\x73\x12"
    "\x10\x12\x0e\x0a\x0c\x00\x00\x00\x3f\x00\x00\x00\xc0\x6f\x12\x83\x3a",
    101);
example const five{{"label", std::vector<std::int64_t>{3, -1}},
                   {"pixels", std::vector<float>{0.5f, -2, 1e-3f}},
                   {"name", std::vector<std::string>{"ab", "", std::string("\0\xff", 2)}},
                   {"empty", {}},
                   {"none", std::vector<float>{}}};

/// An Example of one feature, "a", given by the bytes of its message.
example with_feature(std::string const& message) {
  std::string entry =
      "\x0a\x01"
      "a\x12" +
      std::string(1, static_cast<char>(message.size())) + message;
  std::string features = "\x0a" + std::string(1, static_cast<char>(entry.size())) + entry;
  return parse_example("\x0a" + std::string(1, static_cast<char>(features.size())) + features);
}

TEST(example, reads_and_writes_what_tensorflow_wrote) {
  EXPECT_EQ(parse_example(recorded), five);
  EXPECT_EQ(example_bytes(five), recorded);
  EXPECT_TRUE(parse_example("").empty());
  EXPECT_EQ(example_bytes({}), std::string("\x0a\0", 2));
}

TEST(example, reads_lists_that_are_not_packed_and_lists_in_pieces) {
  EXPECT_EQ(with_feature(std::string("\x1a\x04\x08\x05\x08\x06", 6)).at("a"),
            (feature(std::vector<std::int64_t>{5, 6})));
  EXPECT_EQ(with_feature(std::string("\x12\x05\x0d\x00\x00\x80\x3f", 7)).at("a"), feature(std::vector<float>{1}));
  // Two messages of one kind are one list, and another kind replaces it.
  EXPECT_EQ(with_feature(std::string("\x1a\x02\x08\x05\x1a\x03\x0a\x01\x07", 9)).at("a"),
            (feature(std::vector<std::int64_t>{5, 7})));
  EXPECT_EQ(with_feature(std::string("\x1a\x02\x08\x05\x0a\x03\x0a\x01x", 9)).at("a"),
            (feature(std::vector<std::string>{"x"})));
}

TEST(example, skips_fields_that_it_does_not_know) {
  EXPECT_EQ(parse_example(std::string("\x12\x03xyz\x18\x01", 7) + recorded), five);
  EXPECT_EQ(parse_example(std::string("\x08\x01", 2) + recorded), five);  // the field's number, another kind
}

TEST(example, takes_the_later_of_two_features_of_one_name) {
  auto const twice = example_bytes({{"a", std::vector<float>{1}}}) + example_bytes({{"a", std::vector<float>{2}}});
  EXPECT_EQ(parse_example(twice), (example{{"a", std::vector<float>{2}}}));
}

TEST(example, becomes_tensors_of_the_types_that_are_asked) {
  EXPECT_TRUE(same_bits(feature_tensor(five, "label", of<std::int64_t, 2>), vector<std::int64_t>({3, -1})));
  EXPECT_TRUE(same_bits(feature_tensor(five, "pixels", of<float, unknown, 1>), matrix<float>({{0.5f}, {-2}, {1e-3f}})));
  EXPECT_EQ(feature_tensor(five, "name", of<std::string, unknown>).at<std::string>(0), "ab");
  EXPECT_EQ(feature_tensor(five, "none", of<float, 0>).elements(), 0);
  EXPECT_EQ(refusal([] { feature_tensor(five, "lable", of<std::int64_t, 2>); }), code::not_found);
  EXPECT_EQ(refusal([] { feature_tensor(five, "label", of<float, 2>); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { feature_tensor(five, "label", of<std::int64_t>); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { feature_tensor(five, "pixels", of<float, 2, unknown>); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { feature_tensor(five, "empty", of<float, 2>); }), code::invalid_argument);
}

TEST(example, is_made_of_tensors) {
  for (auto const& t : {tensor(vector<float>({1, 2})), tensor(vector<std::int64_t>({5})), tensor(std::string("x"))})
    EXPECT_TRUE(same_bits(feature_tensor({{"a", feature_of(t)}}, "a", t.type()), t));
  EXPECT_EQ(refusal([] { feature_of(tensor(1.0)); }), code::invalid_argument);
}

TEST(example, ends_with_an_error_or_features_on_damaged_bytes) {
  EXPECT_GT(damage(recorded, [](auto const& b) { parse_example(b); }), 100u);
  EXPECT_EQ(refusal([] { parse_example("no message"); }), code::data_loss);
  EXPECT_EQ(refusal([] { parse_example(std::string("\x0a\xff\xff\xff\xff\x0f", 6)); }), code::data_loss);
  EXPECT_EQ(refusal([] { with_feature(std::string("\x12\x05\x0a\x03\x00\x00\x00", 7)); }), code::data_loss);
  EXPECT_EQ(refusal([] { with_feature("\x1a\x03\x0a\x01\xff"); }), code::data_loss);
}

TEST(example, copies_those_of_a_file_for_tensorflow_which_compares_them) {
  auto const *from = std::getenv("RILL_EXAMPLES_FROM"), *to = std::getenv("RILL_EXAMPLES_TO");
  if (from == nullptr || to == nullptr) GTEST_SKIP() << "tfrecord_oracle.py runs this";
  tfrecord_writer w(to);
  tfrecord_reader r(from);
  while (auto record = r.next()) w.write(example_bytes(parse_example(*record)));
  w.commit();
}

}  // namespace
}  // namespace rill
