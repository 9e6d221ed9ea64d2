#include "rill/base/fiber.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(fiber, runs_between_what_resumes_it) {
  std::vector<int> order;
  detail::fiber* inside = nullptr;
  detail::fiber c([&] {
    order.push_back(1);
    inside->suspend();
    order.push_back(3);
    inside->suspend();
    order.push_back(5);
  });
  inside = &c;
  EXPECT_FALSE(c.resume());
  order.push_back(2);
  EXPECT_FALSE(c.resume());
  order.push_back(4);
  EXPECT_TRUE(c.resume());
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4, 5}));
}

TEST(fiber, throws_where_it_is_resumed_and_may_never_begin) {
  detail::fiber const never([] {});
  detail::fiber fails([] { throw error(code::data_loss, "gone"); });
  EXPECT_EQ(sentence([&] { fails.resume(); }), "data_loss: gone");
}

}  // namespace
}  // namespace rill
