// Compiled with the library, where all kernels are there, and without it, where they have to be asked for.
#include "rill/ops/list/use_elements.hpp"

#include <gtest/gtest.h>

#include "rill/run/session.hpp"

namespace rill {
namespace {

tensor sum_in(graph& g, value x, tensor const& with) {
  session s{g};
  return s.run({{x, with}}, value(add(x, x)));
}

TEST(use_elements, typed_handles_bring_the_kernels_that_they_need) {
  graph g;
  auto const x = placeholder<std::uint8_t, 3>(g, "x");
  auto const y = cast<half>(x * x);
  auto const z = fuse([](auto a, auto b) { return a * b + 1; }, y, y);
  session s{g};
  EXPECT_EQ(static_cast<float>(s.run({{x, vector<std::uint8_t>({1, 2, 3})}}, z).at<half>(2)), 82);
}

TEST(use_elements, a_typed_update_brings_its_arithmetic) {
  graph g;
  auto const v = variable(constant<std::int16_t, 2>(g, {1, 2}), "v");
  auto const more = assign_add(v, constant<std::int16_t, 2>(g, {10, 20}));
  session s{g};
  s.run(initializer(g));
  EXPECT_EQ(s.run(more).at<std::int16_t>(1), 22);
}

TEST(use_elements, common_element_types_need_nothing) {
  graph g;
  auto const x = placeholder(g, of<float, 2>, "x");
  EXPECT_EQ(sum_in(g, x, vector<float>({1, 2})).at<float>(1), 4);
}

TEST(use_elements, erased_handles_have_the_kernels_that_were_asked_for) {
  graph g;
  auto const x = placeholder(g, of<std::int8_t, 2>, "x");
  auto const numbers = vector<std::int8_t>({1, 2});
#if !RILL_COMPILED && !RILL_SEPARATE  // tests/main.cpp of a program with all tests asks for all kernels
  EXPECT_THROW(sum_in(g, x, numbers), error);
#endif
  use_elements<dtype::int8>();
  EXPECT_EQ(sum_in(g, x, numbers).at<std::int8_t>(1), 4);
  session s{g};
  EXPECT_EQ(s.run({{x, numbers}}, cast(x, dtype::float32)).at<float>(1), 2);
}

}  // namespace
}  // namespace rill
