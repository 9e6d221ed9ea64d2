#include "rill/ops/reduction/prod.hpp"

#include <complex>

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::prod_op::infer({extents{-1}}, of<float, "n", 3>) == of<float, "n">);

// The gradient of prod over the axes, and that of the sum of its elements with weights 1, 2, 3, …
std::vector<std::vector<double>> derivatives_of_prod(tensor const& t, extents const& axes) {
  graph g;
  auto const x = placeholder(g, t.type());
  auto const first = gradients(sum(prod(x, axes), {}), {x})[0];
  auto const weights = constant(g, test::counting(t.element(), t.shape()));
  auto const second = gradients(sum(first * weights, {}), {x})[0];
  session s{g};
  return {test::to_doubles(s.run({{x, t}}, first)), test::to_doubles(s.run({{x, t}}, second))};
}

TEST(prod, has_the_gradient_of_a_product_where_elements_are_0) {
  auto const rows = test::from_doubles(dtype::float64, {4, 3}, {2, 3, 5, 0, 3, 5, 0, 0, 5, 0, 0, 0});
  auto const d = derivatives_of_prod(rows, extents{1});
  EXPECT_EQ(d[0], (std::vector<double>{15, 10, 6, 15, 0, 0, 0, 0, 0, 0, 0, 0}));
  // The sum over k of k times the products of all but two: 2 z + 3 y, 1 z + 3 x, 1 y + 2 x in the first row.
  EXPECT_EQ(d[1], (std::vector<double>{2 * 5 + 3 * 3, 1 * 5 + 3 * 2, 1 * 3 + 2 * 2,  //
                                       5 * 5 + 6 * 3, 4 * 5 + 6 * 0, 4 * 3 + 5 * 0,  //
                                       8 * 5, 7 * 5, 0,                              //
                                       0, 0, 0}));
}

TEST(prod, has_derivatives_up_to_the_fifth) {
  graph g;
  auto const x = placeholder(g, of<double, 5>);
  value y = prod(x, {});
  session s{g};
  // d5/dx0…dx4 of the product is 1: each derivative in turn picks one element.
  for (std::int64_t i = 0; i < 5; ++i) {
    std::vector<double> one(5, 0);
    one[static_cast<std::size_t>(i)] = 1;
    y = sum(gradients(y, {x})[0] * constant(g, test::from_doubles(dtype::float64, {5}, one)), {});
    double left = 1;
    for (std::int64_t k = i + 1; k < 5; ++k) left *= static_cast<double>(k + 1);
    EXPECT_EQ(s.run({{x, test::counting(dtype::float64, {5})}}, y).item<double>(), left);
  }
  test::expect_error(code::invalid_argument, "beyond the fifth", [&] { gradients(y, {x}); });
}

TEST(prod, over_columns_that_lie_apart_does_not_depend_on_threads) {
  auto const x = test::scattered(dtype::float64, {7, 9, 11, 5});
  for (auto const& axes : {extents{0}, extents{0, 2}, extents{1, 3}, extents{}}) {
    auto const of = [&](int threads) {
      return test::run([&](auto const& in) { return prod_of_others(in[0], {in[1]}, axes); },
                       {x, test::scattered(dtype::float64, x.shape(), 2)}, threads);
    };
    EXPECT_TRUE(same_bits(of(1), of(4)));
  }
}

TEST(prod, of_integers_wraps_and_of_nothing_is_1) {
  auto const of = [](tensor const& t) { return test::run([](auto const& in) { return prod(in[0], {}); }, {t}); };
  std::vector<double> many(70000, 3);
  std::uint16_t wrapped = 1;
  for (int i = 0; i < 70000; ++i) wrapped = static_cast<std::uint16_t>(wrapped * 3u);
  EXPECT_EQ(of(test::from_doubles(dtype::uint16, {70000}, many)).item<std::uint16_t>(), wrapped);
  EXPECT_EQ(of(test::from_doubles(dtype::int16, {70000}, many)).item<std::int16_t>(),
            static_cast<std::int16_t>(wrapped));
  EXPECT_EQ(of(tensor(dtype::float32, shape{0, 3})).item<float>(), 1);
}

TEST(prod, of_no_complex_numbers_is_1) {
  graph g;
  auto const x = placeholder(g, {dtype::complex64, {0, 3}});
  session s{g};
  auto const made = s.run({{x, tensor(dtype::complex64, shape{0, 3})}}, prod(x, extents{0}));
  ASSERT_EQ(made.shape(), (shape{3}));
  for (auto const& each : made.span<std::complex<float>>()) EXPECT_EQ(each, 1.f);
}

TEST(prod, refuses_strings_and_directions_of_other_extents) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>);
  test::expect_error(code::invalid_argument, "the operand is not of numbers",
                     [&] { prod(placeholder(g, of<std::string, 2>), {}); });
  test::expect_error(code::invalid_argument, "a direction has another element type or other extents",
                     [&] { prod_of_others(x, {placeholder(g, of<float, 3, 2>)}, {}); });
}

}  // namespace
}  // namespace rill
