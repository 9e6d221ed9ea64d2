#include "rill/ops/matrix/matmul.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::matmul_op::infer({}, of<float, "n", 3>, of<float, 3, 4>) == of<float, "n", 4>);
static_assert(ops::matmul_op::infer({true, false}, of<float, 3, "n">, of<float, 3, 4>) == of<float, "n", 4>);
static_assert(ops::matmul_op::infer({false, true}, of<float, "n", 3>, of<float, 4, 3>) == of<float, "n", 4>);
static_assert(ops::matmul_op::infer({}, type::of_unknown_rank(dtype::float32), of<float, 3, 4>) ==
              type::of_unknown_rank(dtype::float32));
static_assert(ops::matmul_op::infer({}, of<float, "n", 2, 3>, of<float, 3, 4>) == of<float, "n", 2, 4>);
static_assert(ops::matmul_op::infer({false, true}, of<float, "n", 1, 2, 3>, of<float, 5, 4, 3>) ==
              of<float, "n", 5, 2, 4>);
static_assert(ops::matmul_op::infer({true, false}, of<float, 3, "m">, of<float, unknown, 3, 4>) ==
              of<float, unknown, "m", 4>);

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

// Matrix `number` of the batch that x is broadcast to.
tensor matrix_of(tensor const& x, shape const& batch, std::int64_t number) {
  std::int64_t at = 0, apart = 1;
  auto const rank = x.shape().rank();
  for (std::size_t i = 1; i <= batch.rank(); ++i) {
    auto const place = number % batch[batch.rank() - i];
    number /= batch[batch.rank() - i];
    if (i + 2 > rank || x.shape()[rank - i - 2] == 1) continue;
    at += place * apart;
    apart *= x.shape()[rank - i - 2];
  }
  auto const rows = x.shape()[rank - 2], columns = x.shape()[rank - 1];
  return test::run([=](auto const& in) { return reshape(in[0], {-1, rows, columns}); }, {x})
      .rows(at, at + 1)
      .reshaped({rows, columns})
      .clone();
}

TEST(matmul, of_batches_is_that_of_each_two_matrices) {
  struct batches {
    shape a, b, y;
  };
  for (auto const& [a, b, y] : {batches{{3}, {3}, {3}},
                                {{4}, {}, {4}},
                                {{}, {4}, {4}},
                                {{2, 1}, {3}, {2, 3}},
                                {{2, 1, 2}, {1, 3, 1}, {2, 3, 2}},
                                {{1}, {1}, {1}},
                                {{5}, {1}, {5}}})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        auto const with = [](shape s, std::int64_t rows, std::int64_t columns) {
          s.push_back(rows), s.push_back(columns);
          return s;
        };
        auto const p = test::scattered(dtype::float64, ta ? with(a, 4, 2) : with(a, 2, 4)),
                   q = test::scattered(dtype::float64, tb ? with(b, 3, 4) : with(b, 4, 3), 5);
        auto const product = [=](auto const& in) { return matmul(in[0], in[1], transposed{ta, tb}); };
        auto const found = test::run(product, {p, q});
        ASSERT_EQ(found.shape(), with(y, 2, 3));
        for (std::int64_t i = 0; i < elements(y); ++i) {
          auto const one = test::to_doubles(test::run(product, {matrix_of(p, y, i), matrix_of(q, y, i)}));
          auto const mine = test::to_doubles(matrix_of(found, y, i));
          for (std::size_t k = 0; k < one.size(); ++k) ASSERT_NEAR(mine[k], one[k], 1e-14);
        }
      }
}

TEST(matmul, of_batches_has_gradients_that_are_summed_where_an_operand_was_broadcast) {
  for (bool tb : {false, true}) {
    graph g;
    auto const x = placeholder(g, of<double, "n", 5, 2, 4>, "x");
    auto const w = placeholder(g, tb ? of<double, 3, 4> : of<double, 4, 3>, "w");
    auto const y = matmul(x, w, transposed{false, tb});
    EXPECT_EQ(y.type(), (of<double, "n", 5, 2, 3>));
    auto const d = gradients(sum(square(y), extents{}), {x, w});
    auto const rows = matmul(reshape(x, {-1, 4}), w, transposed{false, tb});
    auto const e = gradients(sum(square(rows), extents{}), {x, w});
    session s{g};
    std::vector<feed> const feeds{{x, test::scattered(dtype::float64, {3, 5, 2, 4})},
                                  {w, test::scattered(dtype::float64, tb ? shape{3, 4} : shape{4, 3})}};
    for (std::size_t i : {0u, 1u}) {
      auto const [a, b] = s.run(feeds, d[i], e[i]);
      EXPECT_TRUE(same_bits(a, b));
    }
  }
}

TEST(matmul, of_batches_has_the_same_gradients_in_the_same_memory_whatever_was_known) {
  for (auto const& [a, b] : {std::pair{shape{64, 8, 16}, shape{16, 100}}, {shape{16, 8, 16}, shape{4, 1, 16, 30}}})
    for (auto element : {dtype::float32, dtype::bfloat16}) {
      std::vector<tensor> results;
      std::vector<std::size_t> peaks;
      for (bool known : {true, false}) {
        graph g;
        auto const declared = [&](shape const& s) {
          return placeholder(g, known ? type(element, s) : type::of_unknown_rank(element));
        };
        auto const x = declared(a), w = declared(b);
        auto const d = gradients(sum(square(matmul(x, w)), extents{}), {x, w});
        host_memory memory;
        session s{g, {.threads = 1, .memory = &memory}};
        auto const [dx, dw] = s.run({{x, test::scattered(element, a)}, {w, test::scattered(element, b)}}, d[0], d[1]);
        results.insert(results.end(), {dx.clone(), dw.clone()});
        peaks.push_back(static_cast<std::size_t>(memory.usage().peak));
      }
      EXPECT_TRUE(same_bits(results[0], results[2])) << name(element);
      EXPECT_TRUE(same_bits(results[1], results[3])) << name(element);
      EXPECT_EQ(peaks[0], peaks[1]) << name(element);
    }
}

// Blocks of the sum lie within a matrix, across two, and across many.
TEST(matmul_like, adds_up_the_products_along_the_axes_that_are_lacking) {
  struct extents_of {
    std::int64_t rows, depth, columns;
  };
  for (auto [m, k, n] : {extents_of{3, 5, 4}, {40, 1, 70}, {5, 301, 40}, {20, 288, 9}})
    for (auto const& like : {shape{m, n}, shape{2, 1, m, n}, shape{3, m, n}})
      for (bool ta : {false, true})
        for (bool tb : {false, true}) {
          auto const a = test::scattered(dtype::float64, ta ? shape{2, 3, k, m} : shape{2, 3, m, k}),
                     b = test::scattered(dtype::float64, tb ? shape{2, 3, n, k} : shape{2, 3, k, n}, 5);
          tensor const small(dtype::float64, like);
          auto const summed = [&](int threads) {
            return test::run(
                [&](auto const& in) { return record_erased<ops::matmul_like_op>(*in[0].graph, {ta, tb}, in); },
                {a, b, small}, threads);
          };
          auto const found = summed(1);
          auto const wanted = test::run(
              [&](auto const& in) { return sum_like(matmul(in[0], in[1], transposed{ta, tb}), in[2]); }, {a, b, small});
          ASSERT_EQ(found.shape(), like);
          for (std::int64_t i = 0; i < found.elements(); ++i)
            ASSERT_NEAR(found.data<double>()[i], wanted.data<double>()[i], 1e-11);
          EXPECT_TRUE(same_bits(found, summed(2)));
        }
}

TEST(matmul_like, rounds_16_bit_floats_once) {
  auto const column = [](std::vector<double> const& v) { return test::from_doubles(dtype::bfloat16, {4, 1, 1}, v); };
  auto const y =
      test::run([](auto const& in) { return record_erased<ops::matmul_like_op>(*in[0].graph, {true, false}, in); },
                {column({256, 1, 1, -256}), column({1, 1, 1, 1}), tensor(dtype::bfloat16, {1, 1})});
  EXPECT_EQ(test::to_doubles(y), std::vector<double>{2});  // 256 + 1 is no bfloat16
}

TEST(matmul_like, refuses_extents_that_the_sum_does_not_have) {
  graph g;
  auto const refuses = [&](type const& a, type const& b, type const& like, char const* words) {
    test::expect_error(code::invalid_argument, words, [&] {
      record_erased<ops::matmul_like_op>(g, {}, {placeholder(g, a), placeholder(g, b), placeholder(g, like)});
    });
  };
  auto const cannot = "can't be summed to the third value's extents";
  refuses(of<float, 5, 2, 3>, of<float, 5, 3, 4>, of<float, 2, 3>, cannot);
  refuses(of<float, 5, 2, 3>, of<float, 5, 3, 4>, of<float, 1, 4>, cannot);
  refuses(of<float, 5, 2, 3>, of<float, 5, 3, 4>, of<float, 3, 2, 4>, cannot);
  refuses(of<float, 5, 2, 3>, of<float, 5, 3, 4>, of<float, 1, 5, 2, 4>, cannot);
  refuses(of<float, 5, 2, 3>, of<float, 3, 4>, of<float, 2, 4>, cannot);
  refuses(of<float, 5, 2, 3>, of<float, 5, 3, 4>, of<float, 4>, "not a matrix");
  refuses(of<float, 5, 2, 3>, of<float, 5, 2, 4>, of<float, 2, 4>, "the columns of the first");
}

TEST(matmul, of_batches_gives_the_same_bits_for_any_number_of_threads) {
  struct operands {
    shape a, b;
  };
  for (auto const& [p, q] : {operands{{9, 40, 300}, {9, 300, 50}},
                             {{2, 130, 700}, {2, 700, 210}},
                             {{40, 7, 33}, {33, 20}},
                             {{3, 8, 9}, {50, 1, 9, 4}}}) {
    auto const a = test::scattered(dtype::float32, p), b = test::scattered(dtype::float32, q);
    auto const record = [](auto const& in) { return matmul(in[0], in[1]); };
    auto const one = test::run(record, {a, b}, 1);
    for (int threads : {2, 3, 8}) EXPECT_TRUE(same_bits(one, test::run(record, {a, b}, threads))) << p.text();
  }
}

TEST(matmul, of_no_matrices_is_no_matrices) {
  auto const product = [](auto const& in) { return matmul(in[0], in[1]); };
  for (auto const& b : {shape{3, 4}, shape{0, 3, 4}, shape{1, 3, 4}})
    EXPECT_EQ(
        test::run(product, {test::counting(dtype::float32, {0, 2, 3}), test::counting(dtype::float32, b)}).shape(),
        (shape{0, 2, 4}));
  EXPECT_EQ(test::to_doubles(test::run(
                product, {test::counting(dtype::float32, {2, 2, 0}), test::counting(dtype::float32, {2, 0, 1})})),
            std::vector<double>(4, 0.));
  std::int64_t const large = 1 << 29;
  auto const a = test::counting(dtype::int8, {0, large, large}), b = test::counting(dtype::int8, {0, large, 8});
  EXPECT_EQ(test::run(product, {a, b}).shape(), (shape{0, large, 8}));
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
  refuses("do not broadcast", [&] { matmul(p(of<float, 2, 2, 3>), p(of<float, 4, 3, 2>)); });
  refuses("the columns of the first", [&] { matmul(p(of<float, 2, 2, 3>), p(of<float, 2, 2, 3>)); });
  refuses("not numbers", [&] { matmul(p(of<bool, 2, 3>), p(of<bool, 3, 2>)); });
}

}  // namespace
}  // namespace rill
