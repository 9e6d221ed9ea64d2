#include "rill/ops/array/broadcast_to.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(broadcast_to, repeats_axes_of_extent_1_and_adds_axes_in_front) {
  auto const row = test::counting(dtype::int32, {1, 3});
  auto const y = test::run([](auto const& in) { return broadcast_to(in[0], {2, 2, 3}); }, {row});
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
  graph g;
  auto const typed = broadcast_to<4, 2>(placeholder<float, 4, 1>(g));
  static_assert(decltype(typed)::static_type == of<float, 4, 2>);
}

TEST(broadcast_to, refuses_extents_that_the_operand_does_not_broadcast_to) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>);
  auto const words = placeholder(g, of<std::string, 1>);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("does not broadcast to the extents", [&] { broadcast_to(x, {2, 4}); });
  refuses("does not broadcast to the extents", [&] { broadcast_to(x, {3}); });
  refuses("does not broadcast to the extents", [&] { broadcast_to(x, {3, 2}); });
  refuses("an extent is negative", [&] { broadcast_to(x, {-1, 3}); });
  refuses("strings are not supported", [&] { broadcast_to(words, {3}); });
  auto const open = placeholder(g, of<float, "n">);
  auto const y = broadcast_to(open, {2, 3});
  session s{g};
  refuses("does not broadcast to the extents", [&] { s.run({{open, vector<float>({1, 2})}}, y); });
}

}  // namespace
}  // namespace rill
