#include "rill/io/json_lines.hpp"

#include <gtest/gtest.h>

#include "scratch.hpp"

namespace rill {
namespace {

tensor only(std::string const& value) { return parse_json_line("{\"a\":" + value + "}").at(0).value; }

std::string sentence(std::string const& text) {
  try {
    parse_json_line(text);
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::invalid_argument);
    return e.message();
  }
  return "nothing was refused";
}

TEST(json_lines, are_objects_of_named_tensors_in_their_order) {
  auto const all = parse_json_line(R"({"z": 1, "a": "word", "m": [[1, 2.5], [3, 4]], "b": [true, false], "": []})");
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].name, "z");
  EXPECT_TRUE(same_bits(all[0].value, tensor(std::int64_t{1})));
  EXPECT_EQ(all[1].value.item<std::string>(), "word");
  EXPECT_TRUE(same_bits(all[2].value, matrix<double>({{1, 2.5}, {3, 4}})));
  EXPECT_TRUE(same_bits(all[3].value, vector<bool>({true, false})));
  EXPECT_EQ(all[4].value.type(), (of<double, 0>));
  EXPECT_TRUE(parse_json_line("{}").empty());
}

TEST(json_lines, give_the_members_that_are_named_and_pass_over_all_else) {
  std::vector<std::string> const names{"b", "none", "a", "null"};
  auto const found =
      parse_json_line(R"({"x": {"a": [{}, null]}, "a": [1, 2], "null": null, "y": [[1], 2], "b": "w", "x": 1})", names);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_TRUE(same_bits(found[0].value(), tensor(std::string("w"))));
  EXPECT_TRUE(same_bits(found[2].value(), vector<std::int64_t>({1, 2})));
  EXPECT_FALSE(found[1].has_value() || found[3].has_value());
  auto const refuses = [&](char const* line) { return refusal([&] { parse_json_line(line, names); }); };
  for (auto const* line : {"", "7", "[]", "[{\"a\": 1}]", R"({"a": 1)", R"({"x": 1, "a": {}})", R"({"a": 1, "a": 1})",
                           R"({"a": [1, [2]]})", R"({"a": [null]})", R"({"x": [1})"})
    EXPECT_EQ(refuses(line), code::invalid_argument) << line;
}

TEST(json_lines, become_the_types_that_can_hold_them) {
  auto const as = [](char const* text, type const& t) { return json_member_as(only(text), t, "a"); };
  EXPECT_TRUE(same_bits(as("[255, 0]", of<std::uint8_t, unknown>), vector<std::uint8_t>({255, 0})));
  EXPECT_TRUE(same_bits(as("[255, 0]", of<half, 2>), vector<half>({half(255.f), half(0.f)})));
  EXPECT_TRUE(same_bits(as("0.1", of<float>), tensor(0.1f)));
  EXPECT_TRUE(same_bits(as("9007199254740993", of<double>), tensor(9007199254740992.0)));
  EXPECT_EQ(as("[]", of<std::string, unknown>).type(), (of<std::string, 0>));
  for (auto const* text : {"256", "-1", "1.0", "true", "\"1\"", "[1]"})
    EXPECT_EQ(refusal([&] { as(text, of<std::uint8_t>); }), code::invalid_argument) << text;
  EXPECT_EQ(refusal([&] { as("1e39", of<float>); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { as("1", of<bool>); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { as("true", of<float>); }), code::invalid_argument);
}

// Each of these numbers is just above the middle of two numbers of its type. Rounded to float or double first, it is
// the middle.
TEST(json_lines, are_rounded_once) {
  auto const as = [](char const* text, type const& t) { return json_member_as(only(text), t, "a"); };
  EXPECT_EQ(as("1.000488281264552", of<half>).item<half>(), 0x1.004p0f);
  EXPECT_EQ(as("1.0039062501164153", of<bfloat16>).item<bfloat16>(), 0x1.02p0f);
  EXPECT_EQ(as("16842753", of<bfloat16>).item<bfloat16>(), 16908288.f);
  EXPECT_EQ(as("9007199791611905", of<float>).item<float>(), 0x1.000002p53f);
  EXPECT_EQ(as("65519", of<half>).item<half>(), 65504.f);
  EXPECT_EQ(refusal([&] { as("65520", of<half>); }), code::invalid_argument);
}

TEST(json_lines, know_integers_and_floats_apart) {
  EXPECT_TRUE(
      same_bits(only("[-9223372036854775808, 9223372036854775807]"), vector<std::int64_t>({INT64_MIN, INT64_MAX})));
  EXPECT_TRUE(same_bits(only("[1, -2, 3.0]"), vector<double>({1, -2, 3})));
  EXPECT_TRUE(same_bits(only("[1.5, 2]"), vector<double>({1.5, 2})));
  EXPECT_TRUE(same_bits(only("1e2"), tensor(100.0)));
}

TEST(json_lines, have_lists_of_every_rank) {
  EXPECT_EQ(only("[[[1],[2]]]").shape(), (shape{1, 2, 1}));
  EXPECT_EQ(only("[[],[]]").shape(), (shape{2, 0}));
  EXPECT_EQ(only("[[[]]]").shape(), (shape{1, 1, 0}));
  EXPECT_EQ(only("[[[[[[[[1]]]]]]]]").rank(), 8u);
  EXPECT_EQ(only(R"([["a"],["b"]])").at<std::string>(1, 0), "b");
}

TEST(json_lines, refuse_what_is_no_tensor_by_its_name) {
  EXPECT_EQ(sentence(R"({"a": null})"), "'a': expected a value or a list, got null");
  EXPECT_EQ(sentence(R"({"a": {"b": 1}})"), "'a': expected a value or a list, got an object");
  EXPECT_EQ(sentence(R"({"a": [1, "x"]})"), "'a': its values have different kinds");
  EXPECT_EQ(sentence(R"({"a": [true, 1]})"), "'a': its values have different kinds");
  EXPECT_EQ(sentence(R"({"a": [1, true]})"), "'a': its values have different kinds");
  EXPECT_EQ(sentence(R"({"a": ["x", 1.5]})"), "'a': its values have different kinds");
  EXPECT_EQ(sentence(R"({"a": 9223372036854775808})"), "'a': an integer doesn't fit int64");
  EXPECT_EQ(sentence(R"({"a": 18446744073709551616})"), "'a': an integer doesn't fit int64");
  EXPECT_EQ(sentence(R"({"a": [1.5, -9223372036854775809]})"), "'a': an integer doesn't fit int64");
  EXPECT_EQ(sentence(R"({"a": 1, "a": 2})"), "the name 'a' occurs twice");
  EXPECT_EQ(sentence(R"([1])"), "a line of JSON lines must be an object");
  EXPECT_EQ(sentence("1"), "a line of JSON lines must be an object");
  EXPECT_EQ(sentence(R"({"a": [[[[[[[[[1]]]]]]]]]})"),
            "'a': lists are nested more than 8 deep, the highest rank of a tensor");
}

TEST(json_lines, refuse_lists_of_several_shapes) {
  for (auto const* list : {"[[1],[2,3]]", "[[1],[]]", "[[],[1]]", "[[[]],[]]", "[[],[[]]]", "[[[]],[[1]]]"})
    EXPECT_EQ(sentence("{\"a\":" + std::string(list) + "}"), "'a': its lists have different lengths");
  EXPECT_EQ(sentence(R"({"a":[1,[2]]})"), "'a': expected a value, got a list");
  for (auto const* list : {"[[1],2]", "[[],1]"})
    EXPECT_EQ(sentence("{\"a\":" + std::string(list) + "}"), "'a': expected a list, got a value");
}

TEST(json_lines, refuse_what_is_no_json) {
  for (auto const* text :
       {"", "{", "{\"a\":1", "{\"a\":1} x", "{\"a\":}", "{\"a\":1e999}", "{\"a\":NaN}", "{\"\xff\":1}"})
    EXPECT_EQ(sentence(text).substr(0, 28), "invalid JSON at character " + sentence(text).substr(26, 2)) << text;
  using std::string_literals::operator""s;
  for (auto const& text : {"{\"a\":1}\0 x"s, "{\"a\":\0 1}"s, "\0"s, "{\"a\":1}\0"s}) {
    EXPECT_EQ(sentence(text).substr(0, 28), "invalid JSON at character " + std::to_string(text.find('\0') + 1));
    EXPECT_THROW(parse_json_line(text, std::vector<std::string>{"b"}), error);
  }
  EXPECT_GT(damage(R"({"a":[[1,2.5],[3,4]],"b":"c","d":true})", [](auto const& b) { parse_json_line(b); }), 100u);
  EXPECT_THROW(parse_json_line("{\"a\":" + std::string(1'000'000, '[')), error);
}

TEST(json_lines, are_read_from_files_that_can_be_resumed) {
  scratch dir;
  write_file(dir / "a.jsonl", "{\"x\":1}\r\n\n{\"x\":2}\n{\"x\":[}\n{\"x\":3}");
  json_line_reader r(dir / "a.jsonl");
  EXPECT_EQ(r.next()->at(0).value.item<std::int64_t>(), 1);
  auto const at = r.position();
  EXPECT_EQ(at.record, 1u);
  EXPECT_EQ(r.next()->at(0).value.item<std::int64_t>(), 2);
  for (int again = 0; again < 2; ++again) try {
      r.next();
      FAIL();
    } catch (error const& e) {
      EXPECT_NE(e.message().find("a.jsonl', line 4: invalid JSON"), std::string::npos) << e.message();
    }
  r.seek(at);
  EXPECT_EQ(r.next()->at(0).value.item<std::int64_t>(), 2);
  EXPECT_EQ(r.position().record, 3u);
}

}  // namespace
}  // namespace rill
