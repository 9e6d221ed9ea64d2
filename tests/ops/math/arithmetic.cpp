#include "rill/ops/math/arithmetic.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

TEST(minimum, is_NaN_if_either_is) {
  auto const x = test::from_doubles(dtype::float16, {4}, {1, NAN, 3, NAN}), y = test::counting(dtype::float16, {4});
  for (bool turned : {false, true}) {
    auto const z = test::to_doubles(
        test::run([=](auto const& in) { return turned ? minimum(in[1], in[0]) : minimum(in[0], in[1]); }, {x, y}));
    EXPECT_EQ(z[0], 1);
    EXPECT_EQ(z[2], 3);
    EXPECT_TRUE(std::isnan(z[1]) && std::isnan(z[3]));
  }
}

TEST(minimum, and_maximum_give_equals_half_of_the_gradient_each) {
  graph g;
  auto x = placeholder<float, 3>(g, "x"), y = placeholder<float, 3>(g, "y");
  auto [dx, dy] = gradients(sum(minimum(x, y)), x, y);
  auto [ex, ey] = gradients(sum(maximum(x, y)), x, y);
  session s{g};
  auto const [a, b, c, d] =
      s.run({{x, rill::vector<float>({1, 2, 3})}, {y, rill::vector<float>({2, 2, 2})}}, dx, dy, ex, ey);
  EXPECT_EQ(test::to_doubles(a), (std::vector<double>{1, 0.5, 0}));
  EXPECT_EQ(test::to_doubles(b), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(test::to_doubles(c), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(test::to_doubles(d), (std::vector<double>{1, 0.5, 0}));
}

TEST(minimum, and_maximum_of_a_value_with_itself_have_its_whole_gradient) {
  graph g;
  auto x = placeholder<double, 3>(g, "x");
  auto [dx] = gradients(sum(minimum(x, x) + 2. * maximum(x, x)), x);
  session s{g};
  EXPECT_EQ(test::to_doubles(s.run({{x, rill::vector<double>({-1, 0, 2})}}, dx)), (std::vector<double>{3, 3, 3}));
}

TEST(maximum, and_minimum_take_a_number_on_either_side) {
  graph g;
  auto x = placeholder<float, 3>(g, "x");
  static_assert(std::same_as<decltype(maximum(0.f, x)), expr<of<float, 3>>>);
  value const erased = x;
  session s{g};
  auto const [a, b, c, d, e] = s.run({{x, rill::vector<float>({-1, 0, 2})}}, maximum(x, 0.f), maximum(1.f, x),
                                     minimum(x, 1.f), minimum(0.f, x), maximum(erased, 1));
  EXPECT_EQ(test::to_doubles(a), (std::vector<double>{0, 0, 2}));
  EXPECT_EQ(test::to_doubles(b), (std::vector<double>{1, 1, 2}));
  EXPECT_EQ(test::to_doubles(c), (std::vector<double>{-1, 0, 1}));
  EXPECT_EQ(test::to_doubles(d), (std::vector<double>{-1, 0, 0}));
  EXPECT_EQ(test::to_doubles(e), (std::vector<double>{1, 1, 2}));
}

}  // namespace
}  // namespace rill
