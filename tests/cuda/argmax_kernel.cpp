#include "rill/cuda/argmax_kernel.hpp"

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "on_both.hpp"
#include "real_nvrtc.hpp"

namespace rill {
namespace {

constexpr dtype reals[] = {dtype::int8,    dtype::int16,    dtype::int32,   dtype::int64,
                           dtype::uint8,   dtype::uint16,   dtype::uint32,  dtype::uint64,
                           dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

// Numbers of which many are equal. From an odd seed integers are of any size, and some floats are NaNs.
tensor numbers(dtype element, shape const& extents, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  bool const odd = seed % 2 == 1;
  if (!is_float(element))
    return test::filled(element, extents, [&](std::int64_t) {
      auto const bits = random();
      return odd ? bits : bits % 5 - 2;
    });
  return test::filled(element, extents, [&](std::int64_t) -> double {
    auto const i = random() % 4096;
    if (odd && i % 1024 == 0) return std::nan("");
    if (i % 3 < 2) return i % 3 == 0 ? -0.0 : 0.0;
    return static_cast<double>(i % 5) - 2;
  });
}

struct argmax_kernels : test::on_both, testing::WithParamInterface<dtype> {
  void compare_along(shape const& extents, std::int64_t axis, dtype index, std::uint64_t seed) {
    tensor const x = numbers(GetParam(), extents, seed);
    auto const of = std::string(name(GetParam())) + ", axis " + std::to_string(axis) + ", seed " + std::to_string(seed);
    compare({x}, [&](auto const& in) { return argmax(in[0], axis, index); }, "argmax of " + of);
    compare({x}, [&](auto const& in) { return argmin(in[0], axis, index); }, "argmin of " + of);
  }
};

TEST_P(argmax_kernels, find_the_hosts_places_in_lines) {
  for (std::uint64_t const seed : {0u, 1u})
    for (std::int64_t const n : {1, 2, 15, 16, 17, 33, 255, 2049, 5000, 40'000})
      for (std::int64_t const rows : {0, 1, 3, 65})
        if (rows * n < 100'000) compare_along({rows, n}, 1, dtype::int32, seed);
}
TEST_P(argmax_kernels, find_the_hosts_places_in_columns) {
  for (std::uint64_t const seed : {0u, 1u})
    for (std::int64_t const n : {1, 2, 17, 255, 2049}) {
      compare_along({n, 3}, 0, dtype::int32, seed);
      compare_along({2, n, 33}, 1, dtype::int64, seed);
      compare_along({n, 70}, -2, dtype::int32, seed);
    }
}
INSTANTIATE_TEST_SUITE_P(each_type, argmax_kernels, testing::ValuesIn(test::types_to_test(reals)),
                         [](auto const& i) { return std::string(name(i.param)); });

struct argmax_on_gpu : test::on_both {};

TEST_F(argmax_on_gpu, finds_the_first_nan_and_the_first_of_equal_elements_in_any_part) {
  for (std::int64_t const at : {0, 1, 255, 256, 16'383, 16'384, 39'999}) {
    auto const line = [&](double there, double elsewhere) {
      return test::filled(dtype::float32, {40'000}, [&](std::int64_t i) { return i >= at ? there : elsewhere; });
    };
    auto const of = "the element " + std::to_string(at);
    auto const largest = [](auto const& in) { return argmax(in[0], 0); };
    compare({line(2, 1)}, largest, of);
    compare({line(std::nan(""), 1)}, largest, of + ", a NaN");
    compare({line(-1, std::nan(""))}, largest, of + ", after NaNs");
  }
}

TEST_F(argmax_on_gpu, refuses_what_the_host_refuses) {
  tensor const nothing(dtype::float32, {2, 0});
  auto const f = [](auto const& in) { return argmin(in[0], 1); };
  auto const here = failure_here({nothing}, f), there = failure_there({nothing}, f);
  ASSERT_TRUE(here && there);
  EXPECT_EQ(there->message(), here->message());
  compare({tensor(dtype::float32, {0, 0})}, f, "no results");
}

struct argmax_text : test::on_real_nvrtc {};
TEST_F(argmax_text, is_compiled_by_nvrtc) {
  for (auto const x : reals)
    for (bool const largest : {false, true})
      for (auto const index : {dtype::int32, dtype::int64}) {
        auto const* const which = largest ? "largest" : "least";
        add_text(cuda::argmax_text(largest, x, index), which, x, index);
        add_text(cuda::argmax_of_parts_text(largest, x, index), which, x, index);
      }
  expect_compiled();
}

}  // namespace
}  // namespace rill
