#include "rill/train/saved_queue.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

queue_description const both{queue_order::fifo, 10, 0, 0, true, {of<float, unknown>, of<std::string>}};

queue_contents some() {
  return {{{vector<float>({1, 2}), tensor(std::string("two"))},
           {vector<float>({}), tensor(std::string())},
           {vector<float>({3}), tensor(std::string("\0x", 2))}},
          17};
}

std::map<std::string, tensor> saved(queue_contents const& c) {
  std::map<std::string, tensor> all;
  for (auto const& t : saved_queue("q", both, c)) all[t.name] = t.value;
  return all;
}
queue_contents restored(std::map<std::string, tensor> const& from) {
  return restored_queue("q", both, [&](std::string const& name) { return from.at(name); });
}

TEST(saved_queue, is_restored_unchanged) {
  auto const c = restored(saved(some()));
  EXPECT_EQ(c.draws, 17u);
  ASSERT_EQ(c.elements.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(same_bits(c.elements[i][0], some().elements[i][0])) << i;
    EXPECT_EQ(c.elements[i][1].item<std::string>(), some().elements[i][1].item<std::string>());
  }
  EXPECT_TRUE(restored(saved({})).elements.empty());
}

TEST(saved_queue, that_is_damaged_is_refused) {
  auto const good = saved(some());
  auto const with = [&](std::string const& name, tensor const& t) {
    auto bad = good;
    EXPECT_TRUE(bad.contains(name)) << name;
    bad[name] = t;
    return sentence([&] { restored(bad); });
  };
  auto const numbers = [](std::initializer_list<std::int64_t> v) { return vector<std::int64_t>(v); };
  EXPECT_NE(with("queue:q/counts", numbers({4, 0})).find("truncated"), std::string::npos);
  EXPECT_NE(with("queue:q/counts", numbers({2, 0})).find("after its last element"), std::string::npos);
  EXPECT_NE(with("queue:q/counts", numbers({-1, 0})).find("damaged counts"), std::string::npos);
  EXPECT_NE(with("queue:q/0/float32/extents", numbers({1, INT64_MAX, 1, 0, 1, 1})).find("an extent of"),
            std::string::npos);
  EXPECT_NE(with("queue:q/0/float32/extents", numbers({1, 1 << 30, 1, 0, 1, 1})).find("truncated"), std::string::npos);
  EXPECT_NE(with("queue:q/0/float32/extents", numbers({1, -2, 1, 0, 1, 1})).find("an extent of"), std::string::npos);
  EXPECT_NE(with("queue:q/0/float32/extents", numbers({9, 2, 1, 0, 1, 1})).find("rank"), std::string::npos);
  EXPECT_NE(with("queue:q/0/float32/extents", numbers({0, 1, 0, 1, 1})).find("the queue expects"), std::string::npos);
  EXPECT_NE(with("queue:q/0/float32/extents", vector<float>({1})).find("wrong types"), std::string::npos);
  EXPECT_NE(with("queue:q/1/string/lengths", numbers({3, -1, 2})).find("negative"), std::string::npos);
  EXPECT_NE(with("queue:q/1/string/lengths", numbers({3, 0, 200})).find("truncated"), std::string::npos);
}

}  // namespace
}  // namespace rill
