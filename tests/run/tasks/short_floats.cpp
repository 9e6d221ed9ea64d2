// float32 that goes from task to task as its upper 16 bits.
#include "rill/run/tasks/short_floats.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "rill/rill.hpp"

namespace rill {
namespace {

float cut(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u); }

TEST(short_floats, keep_the_upper_bits_and_a_nan_as_a_nan) {
  auto const inf = std::numeric_limits<float>::infinity();
  auto const low_nan = std::bit_cast<float>(0x7f800001u);
  auto const x = vector<float>({0.f, -0.f, 1.f, 3.14159265f, -1e-3f, 1e-40f, inf, -inf, low_nan});
  auto const half = detail::shortened(x);
  EXPECT_EQ(half.element(), dtype::bfloat16);
  auto const y = detail::lengthened(half);
  ASSERT_EQ(y.type(), x.type());
  for (std::int64_t i = 0; i + 1 < x.elements(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(y.data<float>()[i]), std::bit_cast<std::uint32_t>(cut(x.data<float>()[i])));
  EXPECT_TRUE(std::isnan(y.data<float>()[8]));
}

TEST(short_floats, are_what_another_task_gets_and_this_one_does_not) {
  local_cluster const cluster({{"worker", 2}}, [](auto const&) { return task_options{.threads = 1}; });
  graph g;
  auto x = placeholder<float, "n">(g, "x");
  auto const made = g.on("/job:worker/task:0", [&] { return x * 1.1f; });
  auto const sent = truncated(made);
  auto const here = g.on("/job:worker/task:0", [&] { return sent + 0.f; });
  auto const there = g.on("/job:worker/task:1", [&] { return sent + 0.f; });
  auto const whole = g.on("/job:worker/task:1", [&] { return made + 0.f; });
  session s(g, cluster.target()), alone(g, {.threads = 1, .soft_placement = true});
  auto const fed = vector<float>({1, 2, 3});
  auto const [a, b, c, d] = s.run({{x, fed}}, here, there, whole, sent);
  auto const expected = tensor(alone.run({{x, fed}}, made));
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(tensor(b).data<float>()[i], cut(expected.data<float>()[i]));
  for (auto const& t : {tensor(a), tensor(c), tensor(d)}) EXPECT_TRUE(same_bits(t, expected));
  EXPECT_TRUE(same_bits(tensor(alone.run({{x, fed}}, there)), expected));
}

TEST(short_floats, are_sent_by_loops_whose_bodies_lie_on_two_tasks) {
  local_cluster const cluster({{"worker", 2}}, [](auto const&) { return task_options{.threads = 1}; });
  graph g;
  auto const last =
      while_loop([&](auto const& all) { return less(all[0], like(all[0], 3)); },
                 [&](auto const& all) {
                   auto const made = g.on("/job:worker/task:0", [&] { return mul(all[1], like(all[1], 1.1f)); });
                   auto const got = g.on("/job:worker/task:1", [&] { return add(truncated(made), like(made, 0.f)); });
                   return std::vector<value>{add(all[0], like(all[0], 1)), got};
                 },
                 std::vector<value>{constant(g, 0), constant(g, 1.f)});
  session s(g, cluster.target());
  float expected = 1;
  for (int i = 0; i < 3; ++i) expected = cut(expected * 1.1f);
  EXPECT_EQ(tensor(s.run(last[1])).data<float>()[0], expected);
}

TEST(short_floats, come_from_float32_and_pass_derivatives_on) {
  graph g;
  auto w = variable(constant<float, 2>(g, {1, 2}), "w");
  auto const [dw] = gradients(sum(truncated(expr(w)) * 3.f), w);
  session s(g);
  s.run(initializer(g));
  EXPECT_TRUE(same_bits(tensor(s.run(dw)), vector<float>({3, 3})));
  EXPECT_THROW(truncated(value(constant(g, 1.0))), error);
}

}  // namespace
}  // namespace rill
