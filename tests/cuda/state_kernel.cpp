#include "rill/cuda/state_kernel.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "on_both.hpp"
#include "real_nvrtc.hpp"

namespace rill {
namespace {

constexpr dtype floats[] = {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

struct state_kernels : test::on_both, testing::WithParamInterface<dtype> {
  void compare_over(shape const& x, extents const& axes, std::uint64_t seed) {
    auto const fed = test::rows_of_every_kind(GetParam(), x, seed);
    std::string of = std::string(name(GetParam())) + "[";
    for (std::size_t i = 0; i < x.rank(); ++i) of += (i > 0 ? ", " : "") + std::to_string(x[i]);
    of += "], seed " + std::to_string(seed);
    compare({fed}, [&](auto const& in) { return logsumexp(in[0], axes); }, "logsumexp of " + of);
    auto const ddof_of = ddof{static_cast<std::int64_t>(seed % 2)};
    compare({fed}, [&](auto const& in) { return variance(in[0], axes, false, ddof_of); }, "variance of " + of);
  }
};

// Lines have 16 columns, and parts of 4,096 elements.
TEST_P(state_kernels, have_the_hosts_bits_over_lines) {
  for (std::int64_t const n : {0, 1, 2, 15, 16, 17, 33, 255, 2049, 4096, 4097, 5000})
    for (std::int64_t const rows : {0, 1, 3, 19}) compare_over({rows, n}, {1}, static_cast<std::uint64_t>(n + rows));
  for (std::int64_t const n : {12'289, 40'000}) compare_over({n}, {}, static_cast<std::uint64_t>(n % 8));
}
// Parts of columns have 256 elements.
TEST_P(state_kernels, have_the_hosts_bits_over_columns) {
  for (std::int64_t const n : {0, 1, 2, 17, 256, 257, 2049})
    for (std::int64_t const inner : {0, 2, 33, 70}) {
      compare_over({n, inner}, {0}, static_cast<std::uint64_t>(n + inner));
      compare_over({2, n, inner}, {1}, static_cast<std::uint64_t>(n + inner + 1));
    }
}
TEST_P(state_kernels, have_the_hosts_bits_over_axes_apart) {
  compare_over({5, 3, 7}, {0, 2}, 0);
  compare_over({300, 3, 17}, {0, 2}, 2);
  compare_over({3, 2, 5000}, {0, 2}, 3);
  compare_over({2, 3, 300, 2, 5}, {0, 2, 4}, 5);
  compare_over({4, 3, 2}, {-2, 0}, 6);
  compare_over({0, 3, 5}, {0, 2}, 0);
  compare_over({5, 3, 0}, {0, 2}, 0);
  compare_over({1, 1}, {}, 0);
  compare_over({3, 1}, {1}, 1);
}
INSTANTIATE_TEST_SUITE_P(each_type, state_kernels, testing::ValuesIn(test::types_to_test(floats)),
                         [](auto const& i) { return std::string(name(i.param)); });

struct variance_on_gpu : test::on_both {
  void compare_filled(std::function<double(std::int64_t)> const& f, std::string const& of) {
    for (std::int64_t const n : {3, 7, 160, 1001}) {
      compare({test::filled(dtype::float64, {3, n}, f)}, [](auto const& in) { return variance(in[0], {1}); }, of);
      compare({test::filled(dtype::float64, {n, 3}, f)}, [](auto const& in) { return variance(in[0], {0}); }, of);
    }
  }
};

TEST_F(variance_on_gpu, corrects_what_rounding_left_of_the_mean) {
  compare_filled([](std::int64_t i) { return 1e15 + static_cast<double>(i * i % 97) / 2; }, "a large mean");
  for (double const x : {0.1, 0.3, 1e300 / 7}) compare_filled([=](std::int64_t) { return x; }, "equal numbers");
}

struct state_text : test::on_real_nvrtc {};
TEST_F(state_text, is_compiled_by_nvrtc) {
  for (auto const x : floats)
    for (auto const* state : {"moments", "exponentials"}) {
      add_text(cuda::states_of_lines_text(state, x), state, x);
      add_text(cuda::states_of_columns_text(state, false, x), state, x);
      add_text(cuda::states_of_columns_text(state, true, x), state, x, "of states");
      add_text(cuda::join_states_text(state, x), state, x);
    }
  expect_compiled();
}

}  // namespace
}  // namespace rill
