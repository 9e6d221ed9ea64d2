#include "rill/ops/input/decode_example.hpp"

#include "../run.hpp"
#include "io/scratch.hpp"
#include "rill/io.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::expect_error;

example const small{{"pixels", std::vector<float>{0.5f, -2, 3, 4}},
                    {"label", std::vector<std::int64_t>{7}},
                    {"words", std::vector<std::string>{"a", std::string("\0\xff", 2)}},
                    {"empty", {}}};

TEST(decode_example, takes_features_by_name_with_the_types_that_are_asked) {
  graph g;
  auto const records = placeholder<std::string, unknown>(g, "records");
  auto const [pixels, label, words] =
      decode_example(records, named_field<of<float, 2, 2>>{"pixels"}, named_field<of<std::int64_t>>{"label"},
                     named_field<of<std::string, 2>>{"words"});
  static_assert(decltype(pixels)::static_type == of<float, unknown, 2, 2>);
  static_assert(decltype(label)::static_type == of<std::int64_t, unknown>);
  session s{g};
  auto other = small;
  other["label"] = std::vector<std::int64_t>{-1};
  auto const in = vector<std::string>({example_bytes(small), example_bytes(other)});
  auto const [ps, ls, ws] = s.run({{records, in}}, pixels, label, words);
  EXPECT_TRUE(same_bits(ps.rows(1, 2).reshaped({2, 2}), matrix<float>({{0.5f, -2}, {3, 4}})));
  EXPECT_TRUE(same_bits(ls, vector<std::int64_t>({7, -1})));
  EXPECT_TRUE(same_bits(ws, matrix<std::string>({{"a", std::string("\0\xff", 2)}, {"a", std::string("\0\xff", 2)}})));
}

TEST(decode_example, takes_something_else_where_a_feature_is_missing_or_has_no_value) {
  graph g;
  auto const records = placeholder<std::string, 2>(g, "records");
  auto const [a, b] = decode_example(records, named_field<of<std::int64_t>>{"label", std::int64_t{-1}},
                                     named_field<of<float, 2>>{"empty", vector<float>({1, 2})});
  session s{g};
  auto const in = vector<std::string>({example_bytes(small), example_bytes({{"empty", std::vector<float>{8, 9}}})});
  auto const [as, bs] = s.run({{records, in}}, a, b);
  EXPECT_TRUE(same_bits(as, vector<std::int64_t>({7, -1})));
  EXPECT_TRUE(same_bits(bs, matrix<float>({{1, 2}, {8, 9}})));
}

TEST(decode_example, gives_one_record_the_extents_that_it_has) {
  graph g;
  auto const record = placeholder<std::string>(g, "record");
  auto const [rows] = decode_example(record, named_field<of<float, unknown, 2>>{"pixels"});
  static_assert(decltype(rows)::static_type == of<float, unknown, 2>);
  session s{g};
  for (std::size_t n : {2u, 3u, 0u}) {
    auto const bytes = example_bytes({{"pixels", std::vector<float>(2 * n, 1.f)}});
    EXPECT_EQ(s.run({{record, tensor(bytes)}}, rows).shape(), (shape{static_cast<std::int64_t>(n), 2}));
  }
}

TEST(decode_example, names_the_string_and_the_feature_that_are_wrong) {
  auto const refuses = [](code c, char const* words, std::string const& name, type const& wanted) {
    expect_error(c, words, [&] {
      test::run([&](auto const& in) { return decode_example(in[0], {{name, wanted}})[0]; },
                {tensor(example_bytes(small))});
    });
  };
  refuses(code::not_found, "decode_example: string 0: the field 'mask' is missing", "mask", of<float>);
  refuses(code::not_found, "decode_example: string 0: the field 'empty' is missing", "empty", of<float>);
  refuses(code::invalid_argument, "string 0: the feature 'pixels' has 4 values of float32, but float32[3] was expected",
          "pixels", of<float, 3>);
  refuses(code::invalid_argument, "the feature 'label' has 1 values of int64, but string[] was expected", "label",
          of<std::string>);
  refuses(code::invalid_argument, "the feature 'pixels' has 4 values", "pixels", of<float, unknown, 3>);
  expect_error(code::data_loss, "string 1: these bytes are not a tf.train.Example", [&] {
    test::run([&](auto const& in) { return decode_example(in[0], {{"label", of<std::int64_t>}})[0]; },
              {vector<std::string>({example_bytes(small), example_bytes(small).substr(0, 40)})});
  });
}

TEST(decode_example, refuses_types_that_no_feature_has) {
  graph g;
  auto const x = placeholder(g, of<std::string>);
  auto const refuses = [](char const* words, auto f) { expect_error(code::invalid_argument, words, f); };
  refuses("has strings, float32 and int64", [&] { decode_example(x, {{"a", of<double>}}); });
  refuses("at most one extent of a feature may be unknown",
          [&] { decode_example(x, {{"a", of<float, unknown, unknown>}}); });
  refuses("decoded from strings", [&] { decode_example(placeholder(g, of<float>), {{"a", of<float>}}); });
}

TEST(decode_example, reads_tfrecords_and_makes_batches) {
  scratch const folder;
  tfrecord_writer to(folder / "a.tfrecord.gz");
  for (std::int64_t i = 0; i < 5; ++i)
    to.write(example_bytes({{"x", std::vector<float>{static_cast<float>(i), 1}}, {"y", std::vector<std::int64_t>{i}}}));
  to.commit();
  graph g;
  auto const reader = tfrecord_file_reader(g, {(folder / "a.tfrecord.gz").string()}, {.epochs = 2});
  auto const [x, y] = decode_example(reader.next(), named_field<of<float, 2>>{"x"}, named_field<of<std::int64_t>>{"y"});
  auto const [xs, ys] = batch<4>(x * 2.f, y);
  static_assert(std::same_as<decltype(xs), expr<of<float, 4, 2>> const>);
  session s(g);
  s.run(initializer(g));
  start_input(s);
  s.run(xs);
  auto const [some, labels] = s.run(xs, ys);
  EXPECT_TRUE(same_bits(some, matrix<float>({{8, 2}, {0, 2}, {2, 2}, {4, 2}})));
  EXPECT_TRUE(same_bits(labels, vector<std::int64_t>({4, 0, 1, 2})));
}

}  // namespace
}  // namespace rill
