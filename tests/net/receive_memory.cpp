#include "rill/net/receive_memory.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace rill::net {
namespace {

constexpr std::int64_t mebi = 1 << 20;
tensor bytes_of(receive_memory& m, std::int64_t n) { return m.make(dtype::uint8, shape{n}); }

TEST(receive_memory, is_used_again_for_a_tensor_of_about_the_same_size) {
  auto const m = std::make_shared<receive_memory>();
  auto first = bytes_of(*m, 4 * mebi);
  auto const* const at = first.raw();
  EXPECT_EQ(m->kept(), 0u);
  first = {};
  EXPECT_GE(m->kept(), static_cast<std::size_t>(4 * mebi));
  auto const smaller = bytes_of(*m, 2 * mebi), same = bytes_of(*m, 4 * mebi - 100);
  EXPECT_NE(smaller.raw(), at);
  EXPECT_EQ(same.raw(), at);
  EXPECT_EQ(m->kept(), 0u);
}

TEST(receive_memory, keeps_what_came_last_up_to_its_limit) {
  auto const m = std::make_shared<receive_memory>(10 * mebi);
  {
    std::vector<tensor> all;
    for (int i = 0; i < 5; ++i) all.push_back(bytes_of(*m, 4 * mebi));
  }
  EXPECT_EQ(m->kept(), static_cast<std::size_t>(8 * mebi));
  (void)bytes_of(*m, 1000);       // too small
  (void)bytes_of(*m, 11 * mebi);  // too large
  EXPECT_EQ(m->kept(), static_cast<std::size_t>(8 * mebi));
  m->trim();
  EXPECT_EQ(m->kept(), 0u);
}

TEST(receive_memory, may_be_gone_before_its_tensors) {
  auto m = std::make_shared<receive_memory>();
  auto t = bytes_of(*m, 2 * mebi);
  m.reset();
  t.mutable_data<std::uint8_t>()[2 * mebi - 1] = 1;
  EXPECT_TRUE(t.storage().unique());
}

TEST(receive_memory, is_given_back_by_any_thread) {
  auto const m = std::make_shared<receive_memory>(8 * mebi);
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 50; ++i) bytes_of(*m, mebi + i * 1000).mutable_data<std::uint8_t>()[0] = 1;
    });
  for (auto& t : all) t.join();
  EXPECT_LE(m->kept(), static_cast<std::size_t>(8 * mebi));
}

}  // namespace
}  // namespace rill::net
