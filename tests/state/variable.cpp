#include "rill/state/variable.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(variable_state, has_no_value_before_it_is_assigned_one) {
  variable_state v("v", of<float, 2>);
  EXPECT_FALSE(v.initialized());
  EXPECT_EQ(refusal([&] { v.read(); }), code::failed_precondition);
  EXPECT_EQ(error_of([&] { v.read(); }).node(), "v");
  EXPECT_EQ(refusal([&] { v.update([](tensor&) {}); }), code::failed_precondition);
  EXPECT_EQ(refusal([&] { v.inspect([](tensor const&) {}); }), code::failed_precondition);
  v.assign(vector<float>({1, 2}));
  EXPECT_TRUE(v.initialized());
  v.reset();
  EXPECT_FALSE(v.initialized());
}

TEST(variable_state, takes_values_of_its_type_only) {
  variable_state v("v", of<float, "n", 2>);
  v.assign(matrix<float>({{1, 2}}));
  EXPECT_EQ(refusal([&] { v.assign(matrix<double>({{1, 2}})); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { v.assign(matrix<float>({{1, 2, 3}})); }), code::invalid_argument);
  EXPECT_TRUE(same_bits(v.read(), matrix<float>({{1, 2}})));
}

TEST(variable_state, is_read_as_a_snapshot_that_updates_do_not_touch) {
  variable_state v("v", of<float>);
  v.assign(tensor(1.f));
  auto const before = v.read();
  v.update([](tensor& t) { *t.mutable_data<float>() = 2; });
  EXPECT_EQ(before.item<float>(), 1);
  EXPECT_EQ(v.read().item<float>(), 2);
}

TEST(variable_state, is_updated_in_place_when_nobody_looks) {
  variable_state v("v", of<float>);
  v.assign(tensor(1.f));
  void const* first = nullptr;
  v.inspect([&](tensor const& t) { first = t.data<float>(); });
  v.update([&](tensor& t) { EXPECT_EQ(t.data<float>(), first); });
}

TEST(variable_state, keeps_its_value_when_an_update_throws_before_writing) {
  variable_state v("v", of<float>);
  v.assign(tensor(1.f));
  EXPECT_THROW(v.update([](tensor&) { throw 1; }), int);
  EXPECT_EQ(v.read().item<float>(), 1);
}

TEST(variable_state, loses_no_update_of_many_threads) {
  variable_state v("v", of<std::int64_t>);
  v.assign(tensor(std::int64_t{0}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) {
        v.update([](tensor& t) { ++*t.mutable_data<std::int64_t>(); });
        EXPECT_GE(v.read().item<std::int64_t>(), k);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(v.read().item<std::int64_t>(), 2000);
}

}  // namespace
}  // namespace rill
