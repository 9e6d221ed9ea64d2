#include "rill/ops/sort/unique.hpp"

#include <cmath>

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill {
namespace {

TEST(unique, finds_the_different_elements_and_where_they_are) {
  graph g;
  auto const x = placeholder<float, "n">(g);
  auto const [values, inverse, counts] = unique(x);
  static_assert(decltype(values)::static_type == of<float, unknown>);
  static_assert(decltype(inverse)::static_type == of<std::int64_t, "n">);
  auto const again = gather(values, inverse);
  session s{g};
  auto const in = vector<float>({3, NAN, 1, 3, -0.f, NAN, 0.f, 3});
  auto const [v, c, y] = s.run({{x, in}}, values, counts, again);
  EXPECT_EQ(v.elements(), 4);
  EXPECT_EQ(v.at<float>(1), 1);
  EXPECT_TRUE(std::isnan(v.at<float>(3)));
  EXPECT_TRUE(same_bits(c, vector<std::int64_t>({2, 1, 3, 2})));
  for (int i : {0, 2, 3, 7}) EXPECT_EQ(y.at<float>(i), in.at<float>(i));
  EXPECT_EQ(s.run({{x, tensor(dtype::float32, {0})}}, values).elements(), 0);
}

TEST(unique, orders_words_byte_by_byte) {
  graph g;
  auto const x = placeholder<std::string, "n">(g);
  auto const [words, inverse, counts] = unique(value(x));
  session s{g};
  auto const in = vector<std::string>({"b", "", "long enough to be on the heap", "b"});
  auto const [w, i, n] = s.run({{x, in}}, words, inverse, counts);
  EXPECT_TRUE(same_bits(w, vector<std::string>({"", "b", "long enough to be on the heap"})));
  EXPECT_TRUE(same_bits(i, vector<std::int64_t>({1, 0, 2, 1})));
  EXPECT_TRUE(same_bits(n, vector<std::int64_t>({1, 2, 1})));
}

TEST(unique, lets_a_derivative_through_to_where_each_element_occurs_first) {
  graph g;
  auto const x = placeholder<double, "n">(g);
  auto const [dx] = gradients(sum(square(unique(x).values)), x);
  session s{g};
  EXPECT_EQ(test::to_doubles(s.run({{x, vector<double>({3, 1, 3})}}, dx)), (std::vector<double>{6, 2, 0}));
}

TEST(unique, needs_a_vector_of_elements_that_have_an_order) {
  graph g;
  test::expect_error(code::invalid_argument, "not a vector", [&] { unique(value(placeholder(g, of<float, 2, 3>))); });
  test::expect_error(code::invalid_argument, "neither of real numbers nor of strings",
                     [&] { unique(value(placeholder(g, of<bool, 2>))); });
}

}  // namespace
}  // namespace rill
