// search_sorted on a GPU has the host's results.
#include "rill/cuda/search_kernel.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "real_nvrtc.hpp"
#include "table_tests.hpp"

namespace rill {
namespace {

using test::index_types;
using values = std::vector<value>;

constexpr dtype reals[] = {dtype::int8,    dtype::int16,    dtype::int32,   dtype::int64,
                           dtype::uint8,   dtype::uint16,   dtype::uint32,  dtype::uint64,
                           dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

// Numbers of every kind in ascending order, NaNs last; or in any order.
tensor vector_of(dtype element, std::int64_t n, bool in_order) {
  auto all = test::any(element, {n});
  if (in_order)
    test::visit_real(element, [&]<class T>() {
      auto* const first = static_cast<T*>(all.mutable_raw());
      std::sort(first, first + n, [](T a, T b) { return a < b || (b != b && a == a); });
    });
  return all;
}

struct search_kernels : test::on_both, testing::WithParamInterface<dtype> {};
INSTANTIATE_TEST_SUITE_P(each_type, search_kernels, testing::ValuesIn(reals),
                         [](auto const& i) { return std::string(name(i.param)); });
TEST_P(search_kernels, find_the_hosts_places) {
  for (std::int64_t const n : {0, 1, 2, 97, 1000})
    for (auto const& x : {shape{}, shape{0}, shape{3, 101}})
      for (auto const index : index_types)
        for (bool const right : {false, true})
          for (bool const in_order : {false, true})
            compare(
                {vector_of(GetParam(), n, in_order), test::any(GetParam(), x, 7)},
                [&](values const& in) {
                  return record_erased<ops::search_sorted_op>(*in[0].graph, {right, index}, {in[0], in[1]});
                },
                "places among " + std::to_string(n) + " of " + std::string(name(GetParam())));
}

struct search_text : test::on_real_nvrtc {};
TEST_F(search_text, is_compiled_by_nvrtc) {
  for (auto const element : reals)
    for (auto const index : index_types)
      for (bool const right : {false, true})
        for (int const capability : element == dtype::float16 ? std::vector{80, 90, 100} : std::vector{90})
          EXPECT_FALSE(compiler->compile(cuda::search_sorted_text(element, index, right), capability).empty());
}

}  // namespace
}  // namespace rill
