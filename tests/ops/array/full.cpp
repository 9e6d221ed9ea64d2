#include "rill/ops/array/full.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill {
namespace {

tensor made(std::function<value(graph&)> const& record) {
  graph g;
  value const y = record(g);
  session s{g};
  return s.run(y);
}

TEST(full, has_equal_elements_of_the_type_that_is_asked_for) {
  static_assert(decltype(zeros<float, 2, 3>(std::declval<graph&>()))::static_type == of<float, 2, 3>);
  EXPECT_TRUE(
      same_bits(made([](graph& g) { return full<float, 2, 2>(g, 0.5); }), matrix<float>({{0.5f, 0.5f}, {0.5f, 0.5f}})));
  EXPECT_TRUE(same_bits(made([](graph& g) { return ones<std::int8_t, 2>(g); }), vector<std::int8_t>({1, 1})));
  EXPECT_TRUE(same_bits(made([](graph& g) { return zeros<bool>(g); }), tensor(false)));
  EXPECT_TRUE(same_bits(made([](graph& g) { return full(g, {2}, 7); }), vector<int>({7, 7})));
  EXPECT_TRUE(same_bits(made([](graph& g) { return full(g, {1}, 1, dtype::complex64); }),
                        vector<std::complex<float>>({{1, 0}})));
  EXPECT_TRUE(same_bits(made([](graph& g) { return ones(g, {2}); }), vector<float>({1, 1})));
  EXPECT_TRUE(same_bits(made([](graph& g) { return full(g, {1}, 255.f, dtype::uint8); }), vector<std::uint8_t>({255})));
  EXPECT_TRUE(
      same_bits(made([](graph& g) { return full(g, {1}, -0x1p63, dtype::int64); }), vector<std::int64_t>({INT64_MIN})));
  EXPECT_EQ(made([](graph& g) { return zeros(g, {0, 3}, dtype::int64); }).shape(), (shape{0, 3}));
}

TEST(full, refuses_extents_and_numbers_that_there_are_not) {
  graph g;
  test::expect_error(code::invalid_argument, "an extent is negative", [&] { zeros(g, {2, -1}); });
  test::expect_error(code::invalid_argument, "can't be represented as int8", [&] { full(g, {2}, 300, dtype::int8); });
  test::expect_error(code::invalid_argument, "can't be represented as uint8", [&] { full<std::uint8_t, 2>(g, -1.0); });
  for (double n : {-1., 0.5, 256., 1e300, -1e300, static_cast<double>(NAN), static_cast<double>(INFINITY)})
    test::expect_error(code::invalid_argument, "can't be represented as uint8", [&] { full(g, {2}, n, dtype::uint8); });
  for (auto const n : {0x1p63, 0x1p64, -0x1p64})
    test::expect_error(code::invalid_argument, "can't be represented as int64", [&] { full(g, {2}, n, dtype::int64); });
  test::expect_error(code::invalid_argument, "more elements than 64 bits can count", [&] {
    graph h;
    session s{h};
    s.run(zeros(h, {INT64_MAX, INT64_MAX}));
  });
}

TEST(full_like, has_the_extents_that_the_other_has_in_the_step) {
  graph g;
  auto const x = placeholder<double, "n", 2>(g);
  auto const one = ones_like(x), nothing = zeros_like(x);
  static_assert(decltype(one)::static_type == of<double, "n", 2>);
  auto const half = full_like(value(x), 0.5);
  session s{g};
  auto const in = matrix<double>({{3, 4}, {5, 6}, {7, 8}});
  auto const [a, b, c] = s.run({{x, in}}, one, nothing, half);
  EXPECT_EQ(test::to_doubles(a), (std::vector<double>(6, 1)));
  EXPECT_EQ(test::to_doubles(b), (std::vector<double>(6, 0)));
  EXPECT_EQ(test::to_doubles(c), (std::vector<double>(6, 0.5)));
}

}  // namespace
}  // namespace rill
