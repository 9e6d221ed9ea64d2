#include "rill/state/keyed_barrier.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill {
namespace {

// Somebody who takes, and how that ended.
struct asked {
  std::shared_ptr<keyed_request> request = std::make_shared<keyed_request>();
  std::shared_ptr<std::vector<failure>> ends = std::make_shared<std::vector<failure>>();

  asked(keyed_barrier_state& at, std::size_t wanted, bool fewer = false) {
    request->wanted = wanted;
    request->fewer = fewer;
    request->finished = [all = ends](keyed_request&, failure why) { all->push_back(std::move(why)); };
    at.take(request);
  }
  bool served() const { return ends->size() == 1 && !ends->front(); }
  code why() const { return ends->size() == 1 && ends->front() ? ends->front()->code() : code::internal; }
  std::string keys() const {
    std::string all;
    for (auto const& e : request->elements) all += e.key;
    return all;
  }
};

// A barrier of two components, numbers.
struct pairs : keyed_barrier_state {
  pairs() : keyed_barrier_state("pairs", {of<int>, of<int>}) {}
  void put(std::size_t which, std::vector<std::string> const& keys, int first = 0) {
    std::vector<tensor> values;
    for (std::size_t i = 0; i < keys.size(); ++i) values.emplace_back(first + static_cast<int>(i));
    insert(which, keys, values);
  }
};

TEST(keyed_barrier_state, hands_out_whole_elements_those_first_that_began_first) {
  pairs b;
  b.put(0, {"a", "b", "c"}, 10);
  EXPECT_EQ(b.incomplete(), 3);
  b.put(1, {"c", "a"}, 20);
  EXPECT_EQ(b.ready(), 2);
  EXPECT_EQ(b.incomplete(), 1);
  asked const two(b, 2);
  ASSERT_TRUE(two.served());
  EXPECT_EQ(two.keys(), "ac");
  EXPECT_EQ(two.request->elements[0].parts[0].item<int>(), 10);
  EXPECT_EQ(two.request->elements[0].parts[1].item<int>(), 21);
  EXPECT_EQ(b.ready(), 0);
  b.put(0, {"a"});
  EXPECT_EQ(b.incomplete(), 2) << "a key that was taken may begin again";
}

TEST(keyed_barrier_state, takes_of_none_are_served_at_once) {
  pairs b;
  EXPECT_TRUE(asked(b, 0).served());
}

TEST(keyed_barrier_state, puts_in_all_or_nothing) {
  pairs b;
  b.put(0, {"a"});
  EXPECT_EQ(sentence([&] { b.put(0, {"b", "a"}); }),
            "invalid_argument: the barrier 'pairs' already has component 0 of key 'a'");
  EXPECT_EQ(sentence([&] { b.put(1, {"x", "x"}); }),
            "invalid_argument: the barrier 'pairs' already has component 1 of key 'x'");
  EXPECT_EQ(sentence([&] { b.put(2, {"a"}); }),
            "invalid_argument: the barrier 'pairs' has 2 components, but component 2 was inserted");
  EXPECT_EQ(b.incomplete(), 1);
}

TEST(keyed_barrier_state, closed_it_takes_the_rest_of_what_began_and_ends_who_waits_for_more) {
  pairs b;
  b.put(0, {"a", "b"});
  asked const three(b, 3), two(b, 2);
  b.close();
  EXPECT_EQ(three.why(), code::out_of_range);
  EXPECT_TRUE(two.ends->empty()) << "two can still come";
  EXPECT_EQ(sentence([&] { b.put(0, {"c"}); }), "cancelled: the barrier 'pairs' is closed to new keys, but got 'c'");
  b.put(1, {"a", "b"});
  EXPECT_TRUE(two.served());
  asked const none(b, 1, true);
  EXPECT_EQ(none.why(), code::out_of_range);
  b.close();
}

TEST(keyed_barrier_state, at_its_end_fewer_will_do_for_who_says_so) {
  pairs b;
  b.put(0, {"a", "b"}), b.put(1, {"b"});
  asked const up_to_two(b, 2, true);
  EXPECT_TRUE(up_to_two.ends->empty());
  b.close(true);
  ASSERT_TRUE(up_to_two.served());
  EXPECT_EQ(up_to_two.keys(), "b");
  EXPECT_EQ(refusal([&] { b.put(1, {"a"}); }), code::cancelled);
}

TEST(keyed_barrier_state, serves_the_next_when_the_first_in_line_gives_up) {
  pairs b;
  asked const two(b, 2), one(b, 1);
  b.put(0, {"a"}), b.put(1, {"a"});
  EXPECT_TRUE(one.ends->empty()) << "they are served in their order";
  b.give_up(*two.request, failed(code::deadline_exceeded, "late"));
  EXPECT_EQ(two.why(), code::deadline_exceeded);
  EXPECT_TRUE(two.request->elements.empty());
  ASSERT_TRUE(one.served());
  b.give_up(*one.request, failed(code::cancelled, "it has been served"));
  EXPECT_TRUE(one.served());
}

TEST(keyed_barrier_state, is_as_new_when_it_is_reset) {
  pairs b;
  b.put(0, {"a"});
  asked const one(b, 1);
  b.close();
  b.reset();
  EXPECT_EQ(one.why(), code::aborted);
  EXPECT_EQ(b.incomplete(), 0);
  EXPECT_NO_THROW(b.put(0, {"a", "b"}));
}

TEST(keyed_barrier_state, needs_a_component) { EXPECT_THROW(keyed_barrier_state("b", {}), error); }

}  // namespace
}  // namespace rill
