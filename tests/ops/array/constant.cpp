#include "rill/ops/array/constant.hpp"

#include "../run.hpp"
#include "rill/ops/array/full.hpp"
#include "rill/ops/list/fuse.hpp"
#include "rill/ops/list/use_elements.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill {
namespace {

// Just above the middle of two numbers of T. As a float it is the middle, and would be rounded to the other number.
template <class T> constexpr double above_middle = std::same_as<T, half> ? 1 + 0x1p-11 + 0x1p-40 : 1 + 0x1p-8 + 0x1p-40;
template <class T> constexpr float next_to_1 = std::same_as<T, half> ? 1 + 0x1p-10f : 1 + 0x1p-7f;

template <class T> class literals : public testing::Test {};
using types = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(literals, types);

TYPED_TEST(literals, are_rounded_once_beside_typed_and_erased_handles_and_in_lambdas) {
  using T = TypeParam;
  use_elements<dtype_of<T>>();
  graph g;
  auto const one = placeholder<T>(g, "one");
  constexpr double number = above_middle<T>;
  session s{g};
  auto const at_one = [&](value y) { return static_cast<float>(s.run({{one, tensor(T(1.f))}}, y).template item<T>()); };
  EXPECT_EQ(at_one(one * number), next_to_1<T>);
  EXPECT_EQ(at_one(value(one) * number), next_to_1<T>);
  EXPECT_EQ(at_one(fuse([](auto x) { return x * above_middle<T>; }, one)), next_to_1<T>);
  EXPECT_EQ(at_one(fuse([number](auto x) { return x * number; }, one)), next_to_1<T>);
  EXPECT_EQ(at_one(full<T>(g, number)), next_to_1<T>);
  EXPECT_EQ(at_one(full(g, shape{}, number, dtype_of<T>)), next_to_1<T>);
  // An integer that float does not have: 2^24 + 2^16 + 1 is above the middle of two bfloat16.
  if constexpr (std::same_as<T, bfloat16>) {
    EXPECT_EQ(at_one(one * 16842753), 16908288.f);
    EXPECT_EQ(at_one(value(one) * std::int64_t{16842753}), 16908288.f);
  }
}

}  // namespace
}  // namespace rill
