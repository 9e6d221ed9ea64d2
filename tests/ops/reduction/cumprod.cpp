#include "rill/ops/reduction/cumprod.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

// The derivative of the sum of all products, by leaving out one factor at a time.
list slopes(list const& x) {
  list all(x.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t i = k; i < x.size(); ++i) {
      double product = 1;
      for (std::size_t j = 0; j <= i; ++j) product *= j == k ? 1 : x[j];
      all[k] += product;
    }
  return all;
}

TEST(cumprod, derivative_is_exact_at_zeros) {
  for (auto const& x : {list{2, 0, 3, 4}, list{0, 0, 5}, list{0}, list{2, 3, 0, 0.5, 0, 7}}) {
    auto const in = test::from_doubles(dtype::float64, {static_cast<std::int64_t>(x.size())}, x);
    auto const got =
        test::run([](auto const& v) { return gradients(sum(cumprod(v[0], 0), extents{}), {v[0]}, true)[0]; }, {in});
    EXPECT_EQ(test::to_doubles(got), slopes(x));
  }
}

TEST(cumprod, has_the_static_type_of_its_operand_and_wraps) {
  graph g;
  auto x = placeholder<std::int8_t, 4>(g, "x");
  auto y = cumprod<0>(x), z = cumprod<0>(x, {.exclusive = true, .reverse = true});
  static_assert(decltype(y)::static_type == of<std::int8_t, 4>);
  session s{g};
  auto const [a, b] = s.run({{x, rill::vector<std::int8_t>({2, 8, 8, 3})}}, y, z);
  EXPECT_EQ(test::to_doubles(a), (list{2, 16, -128, -128}));
  EXPECT_EQ(test::to_doubles(b), (list{-64, 24, 3, 1}));
}

TEST(cumprod, refuses_axes_and_elements_that_it_has_not) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>), p = placeholder(g, of<bool, 2>);
  test::expect_error(code::invalid_argument, "cumprod: the axis is out of range", [&] { cumprod(x, 2); });
  test::expect_error(code::invalid_argument, "cumprod: the operand is not of numbers", [&] { cumprod(p, 0); });
}

}  // namespace
}  // namespace rill
