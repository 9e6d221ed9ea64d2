#include "rill/ops/check/print.hpp"

#include "../run.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/tensor/print.hpp"

namespace rill {
namespace {

TEST(print, shows_the_message_and_the_value_and_passes_it_on) {
  graph g;
  auto x = placeholder<float, 2>(g, "x");
  auto y = print(x, "x = ") * 2.f;
  std::vector<std::string> lines;
  session s{g, {.log = [&](std::string_view line) { lines.emplace_back(line); }}};
  auto const r = s.run({{x, tensor_of<of<float, 2>>(test::counting(dtype::float32, {2}))}}, y);
  EXPECT_EQ(r.values()[1], 4);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0], "x = [1. 2.]");
}

TEST(print, is_silent_without_a_log) {
  EXPECT_EQ(test::run([](auto const& in) { return print(in[0]); }, {test::counting(dtype::int8, {3})}).elements(), 3);
}

TEST(print, shows_strings_and_empty_tensors) {
  for (auto const& t : {test::counting(dtype::string, {2}), test::counting(dtype::float32, {0, 3})}) {
    graph g;
    auto x = placeholder(g, t.type());
    std::string line;
    session s{g, {.log = [&](std::string_view l) { line = l; }}};
    EXPECT_TRUE(same_bits(s.run({{x, t}}, print(x)), t));
    EXPECT_EQ(line, text(t));
  }
}

TEST(print, prints_each_time_though_the_same_is_printed_twice) {
  graph g;
  auto x = constant(g, 1.f);
  auto a = print(x, "a"), b = print(x, "a");
  int lines = 0;
  session s{g, {.log = [&](std::string_view) { ++lines; }}};
  s.run(a, b);
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace rill
