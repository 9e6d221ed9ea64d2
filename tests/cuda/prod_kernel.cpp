#include "rill/cuda/prod_kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "real_nvrtc.hpp"
#include "sessions_on_both.hpp"

namespace rill {
namespace {

constexpr dtype floats[] = {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

// Numbers around 1, some of which are 0.
tensor factors(dtype element, shape const& extents, std::int64_t seed) {
  tensor made(element, extents);
  visit(element, [&]<class T>() {
    if constexpr (dtypes::floats.contains(dtype_of<T>))
      for (std::int64_t i = 0; i < elements(extents); ++i) {
        auto const at = (i * 7919 + seed * 31) % 97;
        static_cast<T*>(made.mutable_raw())[i] = static_cast<T>(at == 5 ? 0. : 0.6 + static_cast<double>(at) / 120);
      }
  });
  return made;
}

struct products_on_gpu : test::sessions_on_both, testing::WithParamInterface<dtype> {};
INSTANTIATE_TEST_SUITE_P(each_type, products_on_gpu, testing::ValuesIn(test::types_to_test(floats)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(products_on_gpu, of_all_elements_but_one_are_the_hosts) {
  struct {
    shape x;
    extents axes;
  } const cases[] = {
      {{}, {}},        {{1}, {0}},          {{9}, {}},        {{0, 3}, {1}},        {{3, 0}, {1}},
      {{5, 7}, {0}},   {{70, 33}, {1}},     {{4, 3, 5}, {1}}, {{4, 3, 5}, {-1, 0}}, {{2, 3, 4, 5}, {1, 3}},
      {{300, 2}, {0}}, {{2, 1, 3, 1}, {0}}, {{6, 5}, {0, 1}}};
  for (std::size_t c = 0; c < std::size(cases); ++c)
    for (int directions = 0; directions <= 4; ++directions) {
      std::vector<tensor> fed;
      for (int i = 0; i <= directions; ++i) fed.push_back(factors(GetParam(), cases[c].x, i));
      compare(
          fed,
          [&of = cases[c].axes](std::vector<value> const& in) {
            return std::vector<value>{prod_of_others(in[0], {in.begin() + 1, in.end()}, of)};
          },
          "case " + std::to_string(c) + " with " + std::to_string(directions) + " directions");
    }
}

struct prod_text : test::on_real_nvrtc {};
TEST_F(prod_text, is_compiled_by_nvrtc) {
  for (auto const x : floats) add_text(cuda::prod_of_others_text(x), x);
  expect_compiled();
}

}  // namespace
}  // namespace rill
