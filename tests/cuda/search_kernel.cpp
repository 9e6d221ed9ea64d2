#include "rill/cuda/search_kernel.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "real_nvrtc.hpp"
#include "sessions_on_both.hpp"

namespace rill {
namespace {

constexpr dtype reals[] = {dtype::int8,    dtype::int16,    dtype::int32,   dtype::int64,
                           dtype::uint8,   dtype::uint16,   dtype::uint32,  dtype::uint64,
                           dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

struct search_on_gpu : test::sessions_on_both, testing::WithParamInterface<dtype> {};
INSTANTIATE_TEST_SUITE_P(each_type, search_on_gpu, testing::ValuesIn(test::types_to_test(reals)),
                         [](auto const& i) { return std::string(name(i.param)); });

// Numbers of every kind, NaNs among them, in ascending order; many are equal.
tensor sorted(dtype element, std::int64_t n, std::mt19937_64& random) {
  tensor t = test::operand(element, {n}, random);
  visit(element, [&]<class T>() {
    if constexpr (dtypes::reals.contains(dtype_of<T>)) {
      auto* const at = static_cast<T*>(t.mutable_raw());
      std::sort(at, at + n, [](T a, T b) { return a < b || (b != b && a == a); });
    }
  });
  return t;
}

TEST_P(search_on_gpu, finds_the_places_that_the_host_finds) {
  std::mt19937_64 random(1);
  auto const record = [](std::vector<value> const& in) {
    return std::vector<value>{search_sorted(in[0], in[1]), search_sorted_right(in[0], in[1]),
                              search_sorted<std::int64_t>(in[0], in[1]),
                              search_sorted_right<std::int64_t>(in[0], in[1])};
  };
  for (std::int64_t const n : {0, 1, 2, 7, 1000})
    for (auto const& x : {shape{}, shape{0}, shape{3, 5}, shape{1001}})
      compare({sorted(GetParam(), n, random), test::operand(GetParam(), x, random)}, record,
              "search_sorted of " + std::string(name(GetParam())) + " among " + std::to_string(n));
}

struct search_text : test::on_real_nvrtc {};
TEST_F(search_text, is_compiled_by_nvrtc) {
  for (auto const x : reals)
    for (auto const index : {dtype::int32, dtype::int64}) add_text(cuda::search_sorted_text(x, index), x, index);
  expect_compiled();
}

}  // namespace
}  // namespace rill
