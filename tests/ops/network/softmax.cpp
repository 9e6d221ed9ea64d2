#include "rill/ops/network/softmax.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(softmax, is_exp_over_its_sum_whatever_the_length_of_a_row) {
  for (auto d : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16})
    for (std::int64_t n : {1, 2, 3, 7, 8, 9, 16, 31, 100, 1000, 2049}) {
      auto const x = test::scattered(d, {3, n});
      auto const v = test::to_doubles(x),
                 y = test::to_doubles(test::run([](auto const& in) { return softmax(in[0]); }, {x}));
      for (std::size_t r = 0; r < 3; ++r) {
        auto const width = static_cast<std::size_t>(n);
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i) sum += std::exp(v[r * width + i]);
        for (std::size_t i = 0; i < width; ++i) {
          double const wanted = std::exp(v[r * width + i]) / sum;
          ASSERT_NEAR(y[r * width + i], wanted,
                      wanted * (d == dtype::float64   ? 1e-14
                                : d == dtype::float32 ? 1e-6
                                : d == dtype::float16 ? 1e-3
                                                      : 8e-3));
        }
      }
    }
}

TEST(softmax, gives_a_row_the_same_bits_alone_and_among_many) {
  for (auto d : {dtype::float32, dtype::float64, dtype::float16})
    for (std::int64_t n : {1, 10, 16, 700, 2048, 2049}) {
      std::int64_t const rows = n > 100 ? 5 : 130;
      auto const x = test::scattered(d, {rows, n});
      auto const v = test::to_doubles(x),
                 all = test::to_doubles(test::run([](auto const& in) { return softmax(in[0]); }, {x}));
      for (std::int64_t r = 0; r < rows; ++r) {
        std::vector<double> const row(v.begin() + r * n, v.begin() + (r + 1) * n),
            found(all.begin() + r * n, all.begin() + (r + 1) * n);
        auto const alone =
            test::run([](auto const& in) { return softmax(in[0]); }, {test::from_doubles(d, {1, n}, row)});
        ASSERT_EQ(test::to_doubles(alone), found) << "row " << r << " of " << rows << " with " << n << " numbers";
      }
    }
}

TEST(softmax, does_not_overflow) {
  auto const y = test::run([](auto const& in) { return softmax(in[0]); },
                           {test::from_doubles(dtype::float32, {1, 3}, {1e30, 1e30, -1e30})});
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{0.5, 0.5, 0}));
  auto const z = test::to_doubles(test::run([](auto const& in) { return softmax(in[0]); },
                                            {test::from_doubles(dtype::float32, {2, 2}, {-INFINITY, 0, NAN, 0})}));
  EXPECT_EQ(z[0], 0);
  EXPECT_EQ(z[1], 1);
  EXPECT_TRUE(std::isnan(z[2]) && std::isnan(z[3]));
}

TEST(softmax, takes_rows_of_nothing_and_refuses_scalars) {
  EXPECT_EQ(test::run([](auto const& in) { return softmax(in[0]); }, {test::counting(dtype::float32, {3, 0})}).shape(),
            (shape{3, 0}));
  graph g;
  test::expect_error(code::invalid_argument, "the operand is a scalar", [&] { softmax(placeholder(g, of<float>)); });
  test::expect_error(code::invalid_argument, "not of floats", [&] { softmax(placeholder(g, of<int, 3>)); });
}

TEST(log_softmax, is_the_logarithm_of_softmax_whatever_the_length_of_a_row) {
  for (auto d : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16})
    for (std::int64_t n : {1, 2, 7, 16, 31, 1000, 2049, 5000}) {
      auto const x = test::scattered(d, {3, n});
      auto const v = test::to_doubles(x),
                 y = test::to_doubles(test::run([](auto const& in) { return log_softmax(in[0]); }, {x}));
      for (std::size_t r = 0; r < 3; ++r) {
        auto const width = static_cast<std::size_t>(n);
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i) sum += std::exp(v[r * width + i]);
        for (std::size_t i = 0; i < width; ++i)
          ASSERT_NEAR(y[r * width + i], v[r * width + i] - std::log(sum),
                      d == dtype::float64   ? 1e-13
                      : d == dtype::float32 ? 3e-6
                      : d == dtype::float16 ? 6e-3
                                            : 5e-2);
      }
    }
}

TEST(log_softmax, does_not_lose_what_softmax_rounds_to_0) {
  auto const y = test::to_doubles(test::run([](auto const& in) { return log_softmax(in[0]); },
                                            {test::from_doubles(dtype::float32, {2, 2}, {0, -1000, 1e30, -1e30})}));
  EXPECT_EQ(y, (std::vector<double>{0, -1000, 0, static_cast<float>(-2e30)}));
}

TEST(log_softmax, gives_the_same_bits_for_any_number_of_threads) {
  auto const x = test::scattered(dtype::float32, {3000, 33});
  auto const record = [](auto const& in) { return log_softmax(in[0]); };
  for (int threads : {2, 7}) EXPECT_TRUE(same_bits(test::run(record, {x}, 1), test::run(record, {x}, threads)));
}

}  // namespace
}  // namespace rill
