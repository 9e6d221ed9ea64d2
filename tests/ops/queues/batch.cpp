#include "rill/ops/queues/batch.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(batch, has_the_types_of_its_examples_whatever_they_come_from) {
  graph g;
  auto const x = constant<float, 3>(g, {1, 2, 3});
  auto const n = constant(g, 1);
  auto const [xs, ns] = batch<4>(x, n);
  static_assert(std::same_as<decltype(xs), expr<of<float, 4, 3>> const>);
  static_assert(std::same_as<decltype(ns), expr<of<std::int32_t, 4>> const>);
  auto const [ys, ms] = shuffle_batch_up_to<4>({.seed = 2}, std::tuple{x, n}, std::tuple{x * 2.f, n});
  static_assert(std::same_as<decltype(ys), expr<of<float, unknown, 3>> const>);
  auto const one = prefetch(shuffle_batch<4>(n));
  static_assert(std::same_as<decltype(one), expr<of<std::int32_t, 4>> const>);
  auto const [zs, os] = prefetch({.capacity = 1}, batch_up_to<4>(std::tuple{x, n}));
  static_assert(std::same_as<decltype(zs), expr<of<float, unknown, 3>> const>);
  EXPECT_EQ(xs.type(), (of<float, 4, 3>));
  EXPECT_EQ(ns.type(), (of<std::int32_t, 4>));
  EXPECT_EQ(ms.type(), (of<std::int32_t, unknown>));
  EXPECT_EQ(ys.type(), zs.type());
  EXPECT_EQ(os.type(), ms.type());
  EXPECT_EQ(one.type(), ns.type());
}

TEST(batch, has_a_queue_of_a_name_and_capacity_that_can_be_chosen) {
  graph g;
  auto const x = constant(g, 1.f);
  auto const about = [&](operation of) { return decode<ops::queue_attributes>(of.origin().attributes); };
  EXPECT_EQ(about(batch<4>({.threads = 3}, x)).capacity, 11);
  EXPECT_EQ(about(batch<4>({.capacity = 2, .name = "two"}, x)).queue, "two");
  EXPECT_EQ(about(shuffle_batch<4>({.min_after_dequeue = 20}, x)).capacity, 29);
  EXPECT_NE(about(batch<4>(x)).queue, about(batch<4>(x)).queue);
}

TEST(batch, says_in_the_bytes_of_a_graph_how_many_threads_make_it) {
  graph g;
  auto const b = batch<2>({.threads = 2, .name = "pairs"}, constant(g, 1.f));
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  session s(*again);
  start_input(s);
  EXPECT_TRUE(same_bits(s.run({}, std::vector<std::string>{b.name()})[0], vector<float>({1, 1})));
}

}  // namespace
}  // namespace rill
