#include "rill/state/queue_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rill {
namespace {

queue_line line_of(queue_order order, std::int64_t count) {
  bool const draws = order == queue_order::shuffled || order == queue_order::windowed;
  queue_line line({order, count + 1, draws ? 3 : 0, 5, false, {of<std::int64_t>}});
  for (std::int64_t i = 0; i < count; ++i) line.put({{tensor(i * 7 % count)}});
  return line;
}
std::int64_t number(queue_element const& e) { return e.parts.at(0).item<std::int64_t>(); }
std::vector<std::int64_t> all_of(queue_line& line) {
  std::vector<std::int64_t> all;
  while (line.size() != 0) all.push_back(number(line.take()));
  return all;
}

constexpr queue_order orders[] = {queue_order::fifo, queue_order::shuffled, queue_order::priority,
                                  queue_order::windowed};

TEST(queue_line, hands_elements_out_in_its_order) {
  auto fifo = line_of(queue_order::fifo, 5), sorted = line_of(queue_order::priority, 5);
  EXPECT_EQ(all_of(fifo), (std::vector<std::int64_t>{0, 2, 4, 1, 3}));
  EXPECT_EQ(all_of(sorted), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  for (auto order : {queue_order::shuffled, queue_order::windowed}) {
    auto first = line_of(order, 50), second = line_of(order, 50), as_they_came = line_of(queue_order::fifo, 50);
    auto drawn = all_of(first);
    EXPECT_EQ(drawn, all_of(second));
    EXPECT_NE(drawn, all_of(as_they_came));
    std::sort(drawn.begin(), drawn.end());
    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(drawn[i], i);
  }
}

TEST(queue_line, hands_out_those_of_a_bucket_together_when_there_are_enough) {
  queue_line line({queue_order::bucketed, 10, 0, 0, true, {of<std::int64_t>, of<std::int64_t>}, 3});
  auto const put = [](queue_line& to, std::int64_t bucket, std::int64_t n) { to.put({{tensor(bucket), tensor(n)}}); };
  auto const taken = [](queue_line& from) {
    std::vector<std::int64_t> all;
    while (from.size() != 0) all.push_back(from.take().parts[1].item<std::int64_t>());
    return all;
  };
  using list = std::vector<std::int64_t>;
  for (std::int64_t i = 0; i < 5; ++i) put(line, i % 2, i);
  EXPECT_EQ(line.size(), 3);
  std::vector<queue_element> back;
  for (int i = 0; i < 3; ++i) back.push_back(line.take());
  line.put_back(back);
  put(line, 1, 5), put(line, 0, 6), put(line, 7, 7), put(line, -1, 8);
  queue_line other(line.options());
  other.restore(line.contents());
  for (auto* each : {&line, &other}) {
    put(*each, 0, 9), put(*each, 0, 10);
    EXPECT_EQ(taken(*each), (list{0, 2, 4, 1, 3, 5, 6, 9, 10}));
    EXPECT_EQ(each->take_rest().at(0).parts[1].item<std::int64_t>(), 8);
    EXPECT_EQ(each->take_rest().at(0).parts[1].item<std::int64_t>(), 7);
    EXPECT_TRUE(each->take_rest().empty());
  }
  put(line, 1, 1);
  line.clear();
  EXPECT_TRUE(line.take_rest().empty());
}

TEST(queue_line, forgets_what_was_taken_and_put_back) {
  for (auto order : orders) {
    auto untouched = line_of(order, 20), line = line_of(order, 20);
    std::vector<queue_element> taken;
    for (int i = 0; i < 8; ++i) taken.push_back(line.take());
    line.put_back(taken);
    EXPECT_TRUE(taken.empty());
    EXPECT_EQ(all_of(line), all_of(untouched)) << "order " << static_cast<int>(order);
  }
}

TEST(queue_line, goes_on_from_contents_as_the_one_that_they_are_of) {
  for (auto order : orders) {
    auto line = line_of(order, 20), other = line_of(order, 3);
    for (int i = 0; i < 5; ++i) line.take();
    other.restore(line.contents());
    EXPECT_EQ(other.size(), 15);
    EXPECT_EQ(all_of(other), all_of(line)) << "order " << static_cast<int>(order);
  }
}

TEST(queue_line, cleared_is_as_new) {
  for (auto order : orders) {
    auto line = line_of(order, 20), fresh = line_of(order, 20);
    line.take();
    line.clear();
    EXPECT_EQ(line.size(), 0);
    for (std::int64_t i = 0; i < 20; ++i) line.put({{tensor(i * 7 % 20)}});
    EXPECT_EQ(all_of(line), all_of(fresh)) << "order " << static_cast<int>(order);
  }
}

}  // namespace
}  // namespace rill
