#include "rill/ops/matrix/matmul.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::matmul_op::infer({}, of<float, "n", 3>, of<float, 3, 4>) == of<float, "n", 4>);
static_assert(ops::matmul_op::infer({true, false}, of<float, 3, "n">, of<float, 3, 4>) == of<float, "n", 4>);
static_assert(ops::matmul_op::infer({false, true}, of<float, "n", 3>, of<float, 4, 3>) == of<float, "n", 4>);
static_assert(ops::matmul_op::infer({}, type::of_unknown_rank(dtype::float32), of<float, 3, 4>) ==
              of<float, unknown, 4>);

TEST(matmul, is_the_sum_of_products_either_operand_transposed_or_not) {
  for (auto d : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16, dtype::int8, dtype::int32,
                 dtype::uint16, dtype::int64, dtype::complex64, dtype::complex128})
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (auto const& e : {extents{5, 7, 3}, extents{1, 1, 1}, extents{33, 20, 65}}) {
          auto const m = e[0], n = e[1], k = e[2];
          auto const a = test::from_doubles(d, ta ? shape{k, m} : shape{m, k}, [&] {
            std::vector<double> v;
            for (std::int64_t i = 0; i < m * k; ++i) v.push_back(static_cast<double>(i % 3 == 1));
            return v;
          }());
          auto const b = test::from_doubles(d, tb ? shape{n, k} : shape{k, n}, [&] {
            std::vector<double> v;
            for (std::int64_t i = 0; i < n * k; ++i) v.push_back(static_cast<double>(i % 2));
            return v;
          }());
          auto const y = test::to_doubles(
              test::run([=](auto const& in) { return matmul(in[0], in[1], transposed{ta, tb}); }, {a, b}));
          auto const u = test::to_doubles(a), v = test::to_doubles(b);
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              double sum = 0;
              for (std::int64_t l = 0; l < k; ++l)
                sum += u[static_cast<std::size_t>(ta ? l * m + i : i * k + l)] *
                       v[static_cast<std::size_t>(tb ? j * k + l : l * n + j)];
              ASSERT_EQ(y[static_cast<std::size_t>(i * n + j)], sum) << name(d) << " " << e.text();
            }
        }
}

TEST(matmul, conjugates_nothing) {
  using c = std::complex<float>;
  auto const a = tensor::copy<c>(std::vector<c>{{1, 2}}, {1, 1}), b = tensor::copy<c>(std::vector<c>{{3, 4}}, {1, 1});
  EXPECT_EQ(test::run([](auto const& in) { return matmul(in[0], in[1], transposed{true, true}); }, {a, b}).item<c>(),
            (c{-5, 10}));
}

TEST(matmul, of_nothing_is_0) {
  auto const y = test::run([](auto const& in) { return matmul(in[0], in[1]); },
                           {test::counting(dtype::float32, {2, 0}), test::counting(dtype::float32, {0, 3})});
  EXPECT_EQ(test::to_doubles(y), std::vector<double>(6, 0.));
}

TEST(matmul, gives_the_same_bits_for_any_number_of_threads) {
  for (auto d : {dtype::float32, dtype::float64, dtype::float16, dtype::int32}) {
    auto const a = test::scattered(d, {130, 700}), b = test::scattered(d, {700, 210});
    auto const record = [](auto const& in) { return matmul(in[0], in[1]); };
    auto const one = test::run(record, {a, b}, 1);
    for (int threads : {2, 3, 8}) EXPECT_TRUE(same_bits(one, test::run(record, {a, b}, threads))) << name(d);
  }
}

TEST(matmul, refuses_what_does_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("the columns of the first are not the rows of the second",
          [&] { matmul(p(of<float, 2, 3>), p(of<float, 2, 3>)); });
  refuses("not a matrix", [&] { matmul(p(of<float, 2, 3>), p(of<float, 3>)); });
  refuses("not a matrix", [&] { matmul(p(of<float>), p(of<float, 3, 1>)); });
  refuses("different element types", [&] { matmul(p(of<float, 2, 3>), p(of<double, 3, 2>)); });
  refuses("not numbers", [&] { matmul(p(of<bool, 2, 3>), p(of<bool, 3, 2>)); });
}

}  // namespace
}  // namespace rill
