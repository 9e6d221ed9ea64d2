#include "rill/cuda/walk_kernel.hpp"

#include <memory>
#include <string>
#include <vector>

#include "on_both.hpp"
#include "real_nvrtc.hpp"
#include "rill/cuda/row_kernels.hpp"

namespace rill {
namespace {

constexpr dtype reals[] = {dtype::int8,    dtype::int16,    dtype::int32,   dtype::int64,
                           dtype::uint8,   dtype::uint16,   dtype::uint32,  dtype::uint64,
                           dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

struct walk_kernels : test::on_both, testing::WithParamInterface<dtype> {
  // Integers that overflow, or rows of floats of every kind.
  static tensor numbers(shape const& x, std::uint64_t seed) {
    if (is_float(GetParam())) return test::rows_of_every_kind(GetParam(), x, seed);
    return test::filled(GetParam(), x, [&](std::int64_t i) {
      return (static_cast<std::uint64_t>(i) * 6364136223846793005u + seed) >> (i % 2 == 0 ? 3 : 60) | 1;
    });
  }
  // Calls f(extents, axis) for lines and columns.
  template <class F> static void for_each_axis(F const& f) {
    for (std::int64_t const n : {1, 2, 7, 8, 9, 31, 32, 33, 255, 2049}) {
      for (std::int64_t const rows : {1, 3, 65}) f(shape{rows, n}, 1);
      f(shape{n, 2}, 0);
      f(shape{3, n, 70}, -2);
    }
    f(shape{3, 0}, 1);
    f(shape{0, 3}, 1);
  }
  void compare_each(value (*op)(value, std::int64_t, cumulative), std::string const& what) {
    std::uint64_t seed = 0;
    for_each_axis([&](shape const& x, std::int64_t axis) {
      cumulative const how{.exclusive = seed % 2 != 0, .reverse = seed / 2 % 2 != 0};
      compare(
          {numbers(x, seed)}, [&](auto const& in) { return op(in[0], axis, how); },
          what + " of " + std::string(name(GetParam())) + ", case " + std::to_string(seed));
      ++seed;
    });
  }
};

TEST_P(walk_kernels, have_the_hosts_bits_of_cumsum) { compare_each(cumsum, "cumsum"); }
TEST_P(walk_kernels, have_the_hosts_bits_of_cumprod) { compare_each(cumprod, "cumprod"); }
TEST_P(walk_kernels, have_the_hosts_bits_of_delayed) {
  compare_each([](value x, std::int64_t axis, cumulative how) { return delayed(x, axis, how.reverse); }, "delayed");
}
INSTANTIATE_TEST_SUITE_P(each_type, walk_kernels, testing::ValuesIn(test::types_to_test(reals)),
                         [](auto const& i) { return std::string(name(i.param)); });

struct recurrence_kernels : walk_kernels {};

TEST_P(recurrence_kernels, have_the_hosts_bits) {
  std::uint64_t seed = 0;
  for_each_axis([&](shape const& x, std::int64_t axis) {
    // Factors that neither vanish nor grow, so that all terms count.
    auto const factors =
        test::filled(GetParam(), x, [](std::int64_t i) { return static_cast<double>(i % 7 - 3) * 0.3; });
    ops::recurrence_axis const how{axis, seed % 2 != 0, seed / 2 % 2 != 0};
    compare(
        {factors, numbers(x, seed)},
        [&](auto const& in) { return record_erased<ops::linear_recurrence_op>(*in[0].graph, how, {in[0], in[1]}); },
        "linear_recurrence of " + std::string(name(GetParam())) + ", case " + std::to_string(seed));
    ++seed;
  });
}
INSTANTIATE_TEST_SUITE_P(each_type, recurrence_kernels,
                         testing::ValuesIn(test::types_to_test({dtype::float16, dtype::bfloat16, dtype::float32,
                                                                dtype::float64})),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST(row_kernels, have_no_complex_numbers) {
  auto const& op = definition<ops::cumsum_op>();
  type const real(dtype::float32, shape{3}), complex(dtype::complex64, shape{3});
  EXPECT_NE(cuda::row_kernel_of(op, std::span(&real, 1)), nullptr);
  EXPECT_EQ(cuda::row_kernel_of(op, std::span(&complex, 1)), nullptr);
  EXPECT_EQ(cuda::row_kernel_of(definition<ops::add_op>(), std::span(&real, 1)), nullptr);
}

struct walk_text : test::on_real_nvrtc {};
TEST_F(walk_text, is_compiled_by_nvrtc) {
  for (auto const x : reals) {
    for (auto const* so_far : {"sums", "products", "delay"}) add_text(cuda::walk_text(so_far, x, false), so_far, x);
    if (is_float(x)) add_text(cuda::walk_text("recurrence", x, true), "recurrence", x);
  }
  expect_compiled();
}

}  // namespace
}  // namespace rill
