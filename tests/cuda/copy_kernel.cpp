// Copies of elements at regular distances, on a GPU: in tiles where source and target lie differently.
#include "rill/cuda/copy_kernel.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "on_both.hpp"
#include "real_nvrtc.hpp"

namespace rill {
namespace {

// A type for each size of an element.
constexpr dtype of_each_size[] = {dtype::uint8, dtype::float16, dtype::float32, dtype::float64, dtype::complex128};

struct transposes_on_gpu : test::on_both, testing::WithParamInterface<dtype> {
  void compare_transpose(shape const& x, extents const& axes) {
    std::mt19937_64 random(1);
    compare(
        {test::operand(GetParam(), x, random)}, [&](std::vector<value> const& in) { return transpose(in[0], axes); },
        "a transpose of " + std::string(name(GetParam())) + x.text());
  }
};
INSTANTIATE_TEST_SUITE_P(each_size, transposes_on_gpu, testing::ValuesIn(test::types_to_test(of_each_size)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(transposes_on_gpu, of_matrices_have_the_hosts_bits) {
  for (std::int64_t const rows : {0, 1, 7, 8, 31, 32, 33, 65})
    for (std::int64_t const columns : {1, 8, 31, 32, 33, 65, 300}) compare_transpose({rows, columns}, {1, 0});
}
TEST_P(transposes_on_gpu, of_several_matrices_have_the_hosts_bits) {
  for (auto const& x : {shape{3, 33, 65}, shape{5, 8, 9}, shape{0, 33, 34}, shape{2, 64, 32}}) {
    compare_transpose(x, {0, 2, 1});
    compare_transpose(x, {2, 1, 0});
    compare_transpose(x, {1, 2, 0});
    compare_transpose(x, {2, 0, 1});
    compare_transpose(x, {1, 0, 2});  // rows stay whole
  }
}
TEST_P(transposes_on_gpu, of_four_and_five_axes_have_the_hosts_bits) {
  compare_transpose({2, 33, 3, 40}, {0, 3, 2, 1});
  compare_transpose({9, 3, 2, 34}, {3, 1, 2, 0});
  compare_transpose({2, 9, 3, 10}, {2, 3, 0, 1});
  compare_transpose({2, 3, 34, 2, 33}, {1, 4, 0, 3, 2});
  compare_transpose({10, 2, 3, 2, 9}, {4, 2, 1, 3, 0});
  compare_transpose({10, 2, 3, 2, 9}, {4, 3, 2, 1, 0});
}

struct tiles_text : test::on_real_nvrtc {};
TEST_F(tiles_text, is_compiled_by_nvrtc) {
  for (std::size_t const bytes : {1u, 2u, 4u, 8u, 16u})
    for (std::size_t const axes : {1u, 6u})
      for (bool const wide : {false, true})
        add_text(cuda::tiles_text(bytes, axes, wide), bytes, std::to_string(axes) + " axes", wide ? "wide" : "");
  expect_compiled();
}

}  // namespace
}  // namespace rill
