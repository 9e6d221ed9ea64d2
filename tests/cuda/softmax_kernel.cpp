#include "rill/cuda/softmax_kernel.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "on_both.hpp"
#include "real_nvrtc.hpp"

namespace rill {
namespace {

constexpr dtype floats[] = {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};
// Parts of a packet, of a line of lanes, of a tile; rows from 1,000 on have a block each.
constexpr std::int64_t extents_of_rows[] = {1, 2, 15, 16, 17, 33, 255, 999, 1000, 2049, 5000};

using unary = value (*)(value);
value softmax_of(value x) { return softmax(x); }
value log_softmax_of(value x) { return log_softmax(x); }
value cross_entropy_of(std::vector<value> const& in) { return softmax_cross_entropy(in[0], in[1]); }

std::string text(dtype element, std::int64_t rows, std::int64_t n) {
  return std::string(name(element)) + "[" + std::to_string(rows) + ", " + std::to_string(n) + "]";
}

struct softmax_kernels : test::on_both, testing::WithParamInterface<dtype> {
  // Calls f(rows, n, seed) for rows and extents.
  template <class F> static void for_each_extent(F const& f) {
    for (auto const n : extents_of_rows)
      for (std::int64_t const rows : {0, 1, 3, 65})
        if (rows * n <= 65 * 2049) f(rows, n, static_cast<std::uint64_t>(rows + n));
    f(3, 0, 1);
  }
  void compare_rows(unary f, std::string const& what) {
    for_each_extent([&](std::int64_t rows, std::int64_t n, std::uint64_t seed) {
      compare(
          {test::rows_of_every_kind(GetParam(), {rows, n}, seed)}, [&](auto const& in) { return f(in[0]); },
          what + " of " + text(GetParam(), rows, n));
    });
  }
  void compare_labels(dtype label) {
    for_each_extent([&](std::int64_t rows, std::int64_t n, std::uint64_t seed) {
      if (n == 0) return;
      compare({test::rows_of_every_kind(GetParam(), {rows, n}, seed),
               test::filled(label, {rows}, [&](std::int64_t i) { return (i * 7 + n - 1) % n; })},
              cross_entropy_of, "cross entropy of " + text(GetParam(), rows, n));
    });
  }
};

TEST_P(softmax_kernels, have_the_hosts_bits_of_softmax) { compare_rows(softmax_of, "softmax"); }
TEST_P(softmax_kernels, have_the_hosts_bits_of_log_softmax) { compare_rows(log_softmax_of, "log_softmax"); }
TEST_P(softmax_kernels, have_the_hosts_bits_of_cross_entropies_with_int32_labels) { compare_labels(dtype::int32); }
TEST_P(softmax_kernels, have_the_hosts_bits_of_cross_entropies_with_int64_labels) { compare_labels(dtype::int64); }
TEST_P(softmax_kernels, have_the_hosts_bits_of_cross_entropies_with_distributions) {
  for_each_extent([&](std::int64_t rows, std::int64_t n, std::uint64_t seed) {
    // Many shares are 0, where the logarithm may be infinite.
    compare({test::rows_of_every_kind(GetParam(), {rows, n}, seed),
             test::filled(GetParam(), {rows, n},
                          [&](std::int64_t i) { return i % 3 == 0 ? 0. : static_cast<double>(i % 11 + 1) / 16; })},
            cross_entropy_of, "dense cross entropy of " + text(GetParam(), rows, n));
  });
}
INSTANTIATE_TEST_SUITE_P(each_type, softmax_kernels, testing::ValuesIn(test::types_to_test(floats)),
                         [](auto const& i) { return std::string(name(i.param)); });

struct labels_on_gpu : test::on_both {};

TEST_F(labels_on_gpu, that_are_no_class_are_errors_with_the_hosts_words) {
  auto const x = test::rows_of_every_kind(dtype::float32, {100'000, 3}, 0);
  for (auto const label : {dtype::int32, dtype::int64})
    for (std::int64_t const bad : {-1, 3}) {
      auto const labels = test::filled(
          label, {100'000}, [&](std::int64_t i) { return i == 99'998 || i == 70'001 || i == 70'005 ? bad : i % 3; });
      auto const here = failure_here({x, labels}, cross_entropy_of),
                 there = failure_there({x, labels}, cross_entropy_of);
      ASSERT_TRUE(here && there);
      EXPECT_EQ(there->code(), code::invalid_argument);
      EXPECT_EQ(there->message(), here->message());
      EXPECT_NE(there->message().find("row 70001 is " + std::to_string(bad)), std::string::npos) << there->message();
    }
}

struct softmax_text : test::on_real_nvrtc {};
TEST_F(softmax_text, is_compiled_by_nvrtc) {
  for (auto const x : floats)
    for (bool const long_rows : {false, true}) {
      auto const add_rows = [&](std::string const& function, std::vector<dtype> const& operands, std::size_t outputs) {
        add_text(cuda::rows_text(function, operands, outputs, long_rows), function, operands.front(),
                 operands.size() > 1 ? name(operands[1]) : "", long_rows ? "long rows" : "");
      };
      add_rows("softmax", {x}, 1);
      add_rows("log_softmax", {x}, 1);
      for (auto const label : {dtype::int32, dtype::int64}) add_rows("cross_entropy", {x, label}, 2);
      add_rows("cross_entropy_dense", {x, x}, 2);
    }
  expect_compiled();
}

}  // namespace
}  // namespace rill
