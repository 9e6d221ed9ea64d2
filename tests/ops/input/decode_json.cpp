#include "rill/ops/input/decode_json.hpp"

#include "../run.hpp"
#include "io/scratch.hpp"
#include "rill/graph/codec.hpp"
#include "rill/io.hpp"
#include "rill/ops/list/registry.hpp"

namespace rill {
namespace {

using test::expect_error;

TEST(decode_json, takes_members_by_name_with_the_types_that_are_asked) {
  graph g;
  auto const lines = placeholder<std::string, unknown>(g, "lines");
  auto const [size, name, count, good] =
      decode_json(lines, named_field<of<float, 2>>{"size"}, named_field<of<std::string>>{"name"},
                  named_field<of<std::uint8_t>>{"count"}, named_field<of<bool, 1>>{"good"});
  static_assert(decltype(size)::static_type == of<float, unknown, 2>);
  static_assert(decltype(count)::static_type == of<std::uint8_t, unknown>);
  session s{g};
  auto const in = vector<std::string>({R"({"count": 200, "size": [1.5, -2], "name": "a", "good": [true]})",
                                       R"({"good": [false], "name": "\u00e9, \"b\"", "size": [3, 4e1], "count": 0})"});
  auto const [sizes, names, counts, truths] = s.run({{lines, in}}, size, name, count, good);
  EXPECT_TRUE(same_bits(sizes, matrix<float>({{1.5f, -2}, {3, 40}})));
  EXPECT_TRUE(same_bits(names, vector<std::string>({"a", "\u00e9, \"b\""})));
  EXPECT_TRUE(same_bits(counts, vector<std::uint8_t>({200, 0})));
  EXPECT_TRUE(same_bits(truths, matrix<bool>({{true}, {false}})));
  EXPECT_EQ(s.run({{lines, tensor(dtype::string, {0})}}, size).shape(), (shape{0, 2}));
}

TEST(decode_json, lets_members_that_nobody_asks_for_be_anything) {
  auto const y = test::run([](auto const& in) { return decode_json(in[0], {{"n", of<std::int64_t, 2>}})[0]; },
                           {tensor(std::string(R"({"n2": {"n": [null, {"n": 7}], "x": [1, "y", [2]]}, "n": [1, 2], )"
                                               R"("big": 99999999999999999999, "x": null, "n2": {}})"))});
  EXPECT_TRUE(same_bits(y, vector<std::int64_t>({1, 2})));
}

TEST(decode_json, takes_something_else_where_a_member_is_missing_or_null) {
  graph g;
  auto const lines = placeholder<std::string, 3>(g, "lines");
  auto const [a, b] = decode_json(lines, named_field<of<std::int32_t>>{"a", std::int32_t{-1}},
                                  named_field<of<std::string, 2>>{"b", vector<std::string>({"x", "y"})});
  session s{g};
  auto const [as, bs] =
      s.run({{lines, vector<std::string>({R"({"a": 5})", R"({"a": null, "b": ["p", "q"]})", "{}"})}}, a, b);
  EXPECT_TRUE(same_bits(as, vector<std::int32_t>({5, -1, -1})));
  EXPECT_TRUE(same_bits(bs, matrix<std::string>({{"x", "y"}, {"p", "q"}, {"x", "y"}})));
}

TEST(decode_json, gives_one_line_the_extents_that_it_has) {
  graph g;
  auto const line = placeholder<std::string>(g, "line");
  auto const [words, table] =
      decode_json(line, named_field<of<std::string, unknown>>{"words", tensor(dtype::string, {0})},
                  named_field<of<double, unknown, unknown>>{"table"});
  static_assert(decltype(table)::static_type == of<double, unknown, unknown>);
  session s{g};
  auto const run = [&](char const* text) {
    auto const [w, t] = s.run({{line, tensor(std::string(text))}}, words, sum(table, extents{0}));
    return std::pair<tensor, tensor>(w, t);
  };
  auto const first = run(R"({"words": ["a", "b", "c"], "table": [[1, 2], [3, 4]]})");
  EXPECT_TRUE(same_bits(first.first, vector<std::string>({"a", "b", "c"})));
  EXPECT_TRUE(same_bits(first.second, vector<double>({4, 6})));
  auto const second = run(R"({"words": [], "table": [[1.5, 2, 3]]})");
  EXPECT_EQ(second.first.type(), type(dtype::string, {0}));
  EXPECT_TRUE(same_bits(second.second, vector<double>({1.5, 2, 3})));
  EXPECT_EQ(run(R"({"table": [[1]]})").first.shape(), shape{0});
}

TEST(decode_json, names_the_string_and_the_member_that_are_wrong) {
  auto const refuses = [](code c, char const* words, std::string const& line, type const& wanted = of<std::int8_t>) {
    expect_error(c, words, [&] {
      test::run(
          [&](auto const& in) { return decode_json(in[0], {{"a", of<bool>}, {"n", wanted}})[1]; },
          {vector<std::string>({R"({"a": true, "n": )" + std::string(wanted.rank == 0 ? "1}" : "[1, 2]}"), line})});
    });
  };
  auto const wrong = code::invalid_argument;
  refuses(code::not_found, "decode_json: string 1: the field 'n' is missing", R"({"a": true, "m": 1})");
  refuses(code::not_found, "string 1: the field 'n' is missing", R"({"a": true, "n": null})");
  refuses(wrong, "string 1: 'n' has type int64[], and its element 0 can't become int8", R"({"a": true, "n": 300})");
  refuses(wrong, "string 1: 'n' has type float64[], and its element 0 can't become int8", R"({"a": true, "n": 1.5})");
  refuses(wrong, "string 1: 'n' has type string[], and its element 0 can't become int8", R"({"a": true, "n": "1"})");
  refuses(wrong, "'n' has type bool[], and its element 0 can't become int8", R"({"a": true, "n": true})");
  refuses(wrong, "'a' has type int64[], and its element 0 can't become bool", R"({"a": 1, "n": 1})");
  refuses(wrong, "'n' has type int64[1], but int8[] was expected", R"({"a": true, "n": [1]})");
  refuses(wrong, "'n' has type int64[3], but float32[2] was expected", R"({"a": true, "n": [1, 2, 3]})", of<float, 2>);
  refuses(wrong, "its element 1 can't become float32", R"({"a": true, "n": [1, 1e300]})", of<float, 2>);
  refuses(wrong, "its element 1 can't become float16", R"({"a": true, "n": [1, 70000]})", of<half, 2>);
  refuses(wrong, "'n': expected a value or a list, got an object", R"({"a": true, "n": {}})");
  refuses(wrong, "'n': expected a value or a list, got null", R"({"a": true, "n": [null, 1]})");
  refuses(wrong, "the name 'n' occurs twice", R"({"a": true, "n": 1, "n": 1})");
  refuses(wrong, "string 1: invalid JSON at character 14", R"({"a": true, n})");
  refuses(wrong, "string 1: invalid JSON at character 16", R"({"a": true, "n")");
  refuses(wrong, "string 1: a line of JSON lines must be an object", "[]");
}

TEST(decode_json, refuses_types_that_make_no_sense) {
  graph g;
  auto const x = placeholder(g, of<std::string, 2>);
  auto const refuses = [](char const* words, auto f) { expect_error(code::invalid_argument, words, f); };
  refuses("no complex numbers", [&] { decode_json(x, {{"a", of<std::complex<float>>}}); });
  refuses("needs a single record", [&] { decode_json(x, {{"a", of<float, unknown>}}); });
  refuses("not one type for each field", [&] { decode_json(x, {}); });
  refuses("'a' is taken twice", [&] { decode_json(x, {{"a", of<float>}, {"a", of<double>}}); });
  refuses("'a' is a float32[], and the value for records that lack it is an int32[]",
          [&] { decode_json(x, {{"a", of<float>, tensor(1)}}); });
  refuses("decoded from strings", [&] { decode_json(placeholder(g, of<float, 2>), {{"a", of<float>}}); });
}

TEST(decode_json, reads_the_lines_of_a_file_in_a_graph_that_travels) {
  scratch const folder;
  auto const file = (folder / "a.jsonl").string();
  write_file(file, "{\"x\": [1, 2], \"y\": 0}\n{\"y\": 1, \"x\": [3, 4]}\n");
  graph g;
  auto const [x, y] = decode_json(text_reader(g, {file}).next(), named_field<of<float, 2>>{"x"},
                                  named_field<of<std::int32_t>>{"y", std::int32_t{7}});
  auto const name = (x * cast<float>(y)).name();
  auto const again = graph_from_bytes(to_bytes(g), all_operations<io_operations>());
  session s(*again);
  s.run(initializer(*again));
  EXPECT_TRUE(same_bits(s.run({}, std::vector{name})[0], vector<float>({0, 0})));
  EXPECT_TRUE(same_bits(s.run({}, std::vector{name})[0], vector<float>({3, 4})));
}

}  // namespace
}  // namespace rill
