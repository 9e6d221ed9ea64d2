#include "rill/state/turnstile.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

// Somebody who waits, and how that ended.
struct asked {
  std::shared_ptr<turn_request> request = std::make_shared<turn_request>();
  std::shared_ptr<std::vector<failure>> ends = std::make_shared<std::vector<failure>>();

  asked() {
    request->finished = [all = ends](turn_request&, failure why) { all->push_back(std::move(why)); };
  }
  bool told() const { return !ends->empty(); }
  bool passed() const { return ends->size() == 1 && !ends->front(); }
};

TEST(mutex_state, is_handed_on_in_the_order_of_those_who_asked) {
  mutex_state m("m");
  asked a, b, c;
  for (auto* each : {&a, &b, &c}) m.acquire(each->request);
  EXPECT_TRUE(a.passed());
  EXPECT_FALSE(b.told());
  EXPECT_EQ(m.waiting(), 2u);
  m.release();
  EXPECT_TRUE(b.passed());
  EXPECT_FALSE(c.told());
  m.release();
  EXPECT_TRUE(c.passed());
  m.release();
  asked d;
  m.acquire(d.request);
  EXPECT_TRUE(d.passed()) << "it was free again";
}

TEST(mutex_state, passes_over_who_gave_up) {
  mutex_state m("m");
  asked a, b, c;
  for (auto* each : {&a, &b, &c}) m.acquire(each->request);
  m.give_up(*b.request, failed(code::deadline_exceeded, "late"));
  ASSERT_EQ(b.ends->size(), 1u);
  EXPECT_EQ(b.ends->front()->code(), code::deadline_exceeded);
  m.give_up(*a.request, failed(code::cancelled, "who holds it does not wait"));
  EXPECT_TRUE(a.passed());
  m.release();
  EXPECT_TRUE(c.passed());
  EXPECT_EQ(b.ends->size(), 1u) << "nobody is told twice";
}

TEST(mutex_state, may_be_let_go_by_what_its_holder_is_told) {
  mutex_state m("m");
  asked last;
  auto const first = std::make_shared<turn_request>();
  first->finished = [&](turn_request&, failure) { m.acquire(last.request), m.release(); };
  m.acquire(first);
  EXPECT_TRUE(last.passed());
}

TEST(barrier_state, lets_all_go_on_when_the_last_has_arrived_again_and_again) {
  barrier_state b("b", 2);
  EXPECT_EQ(b.parties(), 2);
  for (int round = 0; round < 3; ++round) {
    asked x, y;
    b.arrive(x.request);
    EXPECT_FALSE(x.told());
    b.arrive(y.request);
    EXPECT_TRUE(x.passed() && y.passed());
    EXPECT_EQ(b.waiting(), 0u);
  }
}

TEST(barrier_state, does_not_count_who_gave_up) {
  barrier_state b("b", 2);
  asked x, y, z;
  b.arrive(x.request);
  b.give_up(*x.request, failed(code::cancelled, "no more"));
  ASSERT_EQ(x.ends->size(), 1u);
  EXPECT_EQ(x.ends->front()->message(), "no more");
  b.arrive(y.request);
  EXPECT_FALSE(y.told());
  b.arrive(z.request);
  EXPECT_TRUE(y.passed() && z.passed());
}

TEST(barrier_state, is_for_one_party_or_more) { EXPECT_THROW(barrier_state("b", 0), error); }

TEST(turnstile_state, that_is_reset_ends_those_who_wait_and_nobody_else) {
  mutex_state m("m");
  asked holder, waiter, later;
  m.acquire(holder.request);
  m.acquire(waiter.request);
  m.reset();
  EXPECT_TRUE(holder.passed());
  ASSERT_EQ(waiter.ends->size(), 1u);
  EXPECT_EQ(waiter.ends->front()->code(), code::aborted);
  m.release();
  m.acquire(later.request);
  EXPECT_TRUE(later.passed());
  barrier_state b("b", 2);
  asked first, second, third;
  b.arrive(first.request);
  b.reset();
  ASSERT_EQ(first.ends->size(), 1u);
  EXPECT_EQ(first.ends->front()->code(), code::aborted);
  b.arrive(second.request);
  EXPECT_FALSE(second.told()) << "who was ended does not count";
  b.arrive(third.request);
  EXPECT_TRUE(second.passed() && third.passed());
}

}  // namespace
}  // namespace rill
