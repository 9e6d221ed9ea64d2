#include "rill/net/movements.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/sentence.hpp"

namespace rill::net {
namespace {

device_name const ps = device_name::parse("/job:ps/task:0");

TEST(movements, of_a_step_are_kept_until_many_others_have_followed) {
  recent_movements all;
  all.add({.step = {7, 1}, .key = {3, 0}, .kind = movement_kind::sent, .peer = ps, .bytes = 4});
  all.add({.step = {7, 2}, .key = {4, 0}, .kind = movement_kind::received});
  all.add({.step = {7, 1}, .key = {5, 9}, .kind = movement_kind::asked_for, .peer = ps});
  auto const mine = all.of({7, 1});
  ASSERT_EQ(mine.size(), 2u);
  EXPECT_EQ(mine[0].text(), "sent edge 3 (path 0) to /job:ps/task:0, 4 bytes");
  EXPECT_EQ(mine[1].text(), "asked for edge 5 (path 9) from /job:ps/task:0");
  for (std::size_t i = 0; i < recent_movements::most; ++i) all.add({.step = {7, 3}});
  EXPECT_TRUE(all.of({7, 1}).empty());
  EXPECT_EQ(all.of({7, 3}).size(), recent_movements::most);
}

TEST(movements, are_written_and_read_with_how_long_ago_they_were) {
  recent_movements all;
  all.add({.step = {7, 1}, .key = {3, 8}, .kind = movement_kind::received, .peer = ps, .bytes = 4});
  auto const body = body_of_movements(9, all.of({7, 1}));
  auto const again = movements_of(body);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].text(), "received edge 3 (path 8) from /job:ps/task:0, 4 bytes");
  EXPECT_LE(again[0].at, std::chrono::steady_clock::now());
  EXPECT_EQ(refusal([&] { (void)movements_of(body + "x"); }), code::data_loss);
  moved_body const other{.call = 9, .values = {{.kind = 99}}};
  EXPECT_EQ(refusal([&] { (void)movements_of(body_of(other)); }), code::data_loss);
}

TEST(movements, of_several_tasks_stand_in_the_order_of_their_times) {
  gathered_movements all;
  auto const end = std::chrono::steady_clock::now();
  auto const at = [&](int us) { return end - std::chrono::microseconds(us); };
  all.add("a", {{.at = at(300), .key = {1, 0}}, {.at = at(100), .key = {3, 0}}});
  all.add("b", {{.at = at(200), .key = {2, 0}, .kind = movement_kind::received}});
  EXPECT_EQ(all.text(end),
            "\n  300 us before: a sent edge 1 (path 0)\n  200 us before: b received edge 2 (path 0)"
            "\n  100 us before: a sent edge 3 (path 0)");
}

}  // namespace
}  // namespace rill::net
