#include "rill/device/kernel.hpp"

#include <gtest/gtest.h>

#include "rill/device/step.hpp"

namespace rill {
namespace {

TEST(kernel, is_nothing_before_it_is_made) {
  EXPECT_FALSE(kernel());
  EXPECT_TRUE(kernel([](kernel_call const&) {}));
  EXPECT_EQ(kernel([](kernel_call const&) {}).scratch(), 0);
  EXPECT_EQ(kernel([](kernel_call const&) {}, 12).scratch(), 12);
}

TEST(kernel, finds_inputs_outputs_and_scratch_one_after_the_other) {
  float a = 2, b = 3, sum = 0, product = 0, scratch = 0;
  void* const pointers[] = {&a, &b, &sum, &product, &scratch};
  parallel const alone;
  step_context step;
  kernel const k([](kernel_call const& call) {
    *call.out<float>(0) = *call.in<float>(0) + *call.in<float>(1);
    *call.out<float>(1) = *call.in<float>(0) * *call.in<float>(1);
    *static_cast<float*>(call.scratch()) = 7;
  });
  k({pointers, 2, 2, alone, step});
  EXPECT_EQ(sum, 5);
  EXPECT_EQ(product, 6);
  EXPECT_EQ(scratch, 7);
}

TEST(kernel, copies_share_what_it_holds_and_the_last_lets_go_of_it) {
  auto const held = std::make_shared<int>(1);
  parallel const alone;
  step_context step;
  {
    kernel copy;
    {
      kernel const k([held](kernel_call const&) { ++*held; });
      copy = k;
    }
    EXPECT_EQ(held.use_count(), 2);
    copy({nullptr, 0, 0, alone, step});
    EXPECT_EQ(*held, 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace rill
