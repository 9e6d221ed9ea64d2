#include "rill/train/embedding.hpp"

#include <gtest/gtest.h>

#include "../ops/executions.hpp"
#include "../ops/run.hpp"
#include "rill/train/gradient_descent.hpp"

namespace rill {
namespace {

using doubles = std::vector<double>;

// A table whose row i is (10 i, 10 i + 1).
constexpr auto numbered = [](graph& g, type const& t) {
  tensor table(t.element, t.shape());
  for (std::int64_t i = 0; i < table.elements(); ++i)
    table.mutable_data<float>()[i] = static_cast<float>(i / 2 * 10 + i % 2);
  return constant(g, table);
};

TEST(embedding_layer, looks_rows_up_for_indices_of_any_rank) {
  graph g;
  embedding_layer<2> const words(g, 4, "words", numbered);
  auto const x = placeholder<int, "batch", "time">(g, "x");
  auto const one = placeholder<std::int64_t>(g, "one");
  auto const a = words(x);
  auto const b = words(one);
  static_assert(std::same_as<decltype(a), expr<of<float, "batch", "time", 2>> const>);
  static_assert(std::same_as<decltype(b), expr<of<float, 2>> const>);
  EXPECT_EQ(words(value(x)).type(), (of<float, "batch", "time", 2>));
  EXPECT_EQ(words.table().name(), "words/table");
  EXPECT_EQ(words.table().type(), (of<float, 4, 2>));
  test::each_execution s(g);
  s.run(initializer(g));
  auto const [p, q] = s.run({{x, matrix<int>({{3, 0}})}, {one, tensor(std::int64_t{2})}}, a, b);
  EXPECT_EQ(test::to_doubles(p), (doubles{30, 31, 0, 1}));
  EXPECT_EQ(test::to_doubles(q), (doubles{20, 21}));
}

TEST(embedding_layer, gives_zeros_for_padding_and_never_trains_its_row) {
  graph g;
  auto const x = placeholder<int, "n">(g, "x");
  embedding_layer<2> const words(g, 3, "words", numbered, {.padding = 1});
  auto const rows = words(x);
  auto const train = gradient_descent{1.f}.minimize(sum(rows));
  test::each_execution s(g);
  s.run(initializer(g));
  std::vector<feed> const feeds{{x, vector<int>({1, 2, 2})}};
  EXPECT_EQ(test::to_doubles(s.run(feeds, rows)), (doubles{0, 0, 20, 21, 20, 21}));
  s.run(feeds, train);
  EXPECT_EQ(test::to_doubles(s.run({}, value(words.table()))), (doubles{0, 1, 10, 11, 18, 19}));
}

TEST(embedding, creates_the_table_and_looks_up) {
  graph g;
  auto const x = placeholder<int, "n">(g, "x");
  auto const a = embedding<100, 8>(x, "a");
  static_assert(std::same_as<decltype(a), expr<of<float, "n", 8>> const>);
  EXPECT_EQ(embedding(value(x), of<double, 5, 3>, "b", constant(2)).type(), (of<double, "n", 3>));
  EXPECT_EQ(g.find("a/table").type(), (of<float, 100, 8>));
  EXPECT_EQ(g.find("b/table").type(), (of<double, 5, 3>));
}

TEST(embedding, refuses_indices_and_tables_that_do_not_exist) {
  graph g;
  auto const refuses = [](std::string const& words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  auto const x = placeholder<int, 2>(g, "x");
  auto const y = embedding<4, 2>(x, "words");
  test::each_execution s(g);
  s.run(initializer(g));
  for (int wrong : {-1, 4, INT32_MAX, INT32_MIN})
    refuses("index 1 is " + std::to_string(wrong) + ", and there are 4 rows",
            [&] { s.run({{x, vector<int>({0, wrong})}}, y); });
  for (type const& t : {of<float, 4>, of<float, 0, 4>, of<float, 4, 0>, of<float, unknown, 4>})
    refuses("expected a table [rows, features] with extents above 0, got " + t.text(), [&] { embedding(x, t, "bad"); });
  for (std::int64_t wrong : {std::int64_t{4}, std::int64_t{-2}, INT64_MIN, INT64_MAX})
    refuses("as padding, or -1, got " + std::to_string(wrong),
            [&] { embedding(x, of<float, 4, 2>, "bad", zeros(), {.padding = wrong}); });
  refuses("neither int32 nor int64", [&] { embedding(placeholder(g, of<float, 2>), of<float, 4, 2>, "floats"); });
}

}  // namespace
}  // namespace rill
