#include "rill/run/tasks/send_windows.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace rill {
namespace {

struct outcome {
  int calls = 0;
  failure why;
};
std::shared_ptr<room_request> asking(std::uint32_t edge, outcome& o) {
  auto r = std::make_shared<room_request>();
  r->edge = edge;
  r->finished = [&o](room_request&, failure why) {
    ++o.calls;
    o.why = std::move(why);
  };
  return r;
}

TEST(send_windows, let_a_sender_wait_when_it_is_ahead_by_the_window) {
  send_windows w;
  EXPECT_TRUE(w.add(1, 3));
  EXPECT_TRUE(w.add(1, 3));
  EXPECT_FALSE(w.add(1, 3));
  EXPECT_TRUE(w.add(2, 3)) << "each edge has its own";
  outcome o;
  w.wait(asking(1, o), 3);
  EXPECT_EQ(o.calls, 0);
  w.took(1, 1);
  EXPECT_EQ(o.calls, 1);
  EXPECT_FALSE(o.why);
  EXPECT_FALSE(w.add(1, 3));
  w.took(1, 2);
  outcome at_once;
  w.wait(asking(1, at_once), 3);
  EXPECT_EQ(at_once.calls, 1);
}

TEST(send_windows, take_no_more_than_was_sent) {
  send_windows w;
  w.took(7, 100);
  EXPECT_TRUE(w.add(7, 2));
  w.took(7, 100);
  EXPECT_TRUE(w.add(7, 2));
  EXPECT_FALSE(w.add(7, 2));
}

TEST(send_windows, end_what_waits_and_what_will) {
  send_windows w;
  outcome given_up, ended, later;
  (void)w.add(1, 1);
  (void)w.add(2, 1);
  auto const r = asking(1, given_up);
  w.wait(r, 1);
  w.wait(asking(2, ended), 1);
  w.give_up(*r, failed(code::cancelled, "enough"));
  w.give_up(*r, failed(code::cancelled, "again"));
  ASSERT_EQ(given_up.calls, 1);
  EXPECT_EQ(given_up.why->message(), "enough");
  w.end(failed(code::aborted, "over"));
  ASSERT_EQ(ended.calls, 1);
  EXPECT_EQ(ended.why->message(), "over");
  w.wait(asking(1, later), 1);
  ASSERT_EQ(later.calls, 1);
  EXPECT_EQ(later.why->message(), "over");
}

TEST(send_windows, let_all_go_on_that_wait_when_there_is_room) {
  send_windows w;
  outcome first, second;
  (void)w.add(1, 2);
  (void)w.add(1, 2);
  w.wait(asking(1, first), 2);
  (void)w.add(1, 2);
  w.wait(asking(1, second), 2);
  w.took(1, 1);
  EXPECT_EQ(first.calls + second.calls, 0);
  w.took(1, 1);
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(second.calls, 1);
}

TEST(taken_counts, are_told_when_a_quarter_of_a_window_was_taken) {
  taken_counts t;
  EXPECT_EQ(t.took(1, 8), 0u);
  EXPECT_EQ(t.took(1, 8), 2u);
  EXPECT_EQ(t.took(1, 8), 0u);
  EXPECT_EQ(t.took(2, 2), 1u);
  EXPECT_EQ(t.took(1, 8), 2u);
}

}  // namespace
}  // namespace rill
