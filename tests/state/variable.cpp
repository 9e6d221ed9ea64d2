#include "rill/state/variable.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <new>
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

// Runs `f` while an update of v writes, and returns when both have ended.
template <class F> void during_an_update(variable_state& v, F const& f) {
  std::atomic<bool> begun = false, done = false;
  std::thread updating([&] {
    v.update([&](tensor& t) {
      begun = true;
      while (!done) std::this_thread::yield();
      *t.mutable_data<float>() = 2;
    });
  });
  while (!begun) std::this_thread::yield();
  f();  // must not wait for the update, or this test never ends
  done = true;
  updating.join();
}

TEST(variable_state, is_read_as_it_was_while_an_update_writes_a_copy) {
  variable_state v("v", of<float>);
  v.assign(tensor(1.f));
  auto const snapshot = v.read();  // so that the update copies
  during_an_update(v, [&] { EXPECT_EQ(v.read().item<float>(), 1); });
  EXPECT_EQ(v.read().item<float>(), 2);
}

TEST(variable_state, tells_its_extents_while_an_update_writes_in_place) {
  variable_state v("v", of<float, unknown>);
  v.assign(vector<float>({1}));
  during_an_update(v, [&] {
    EXPECT_TRUE(v.initialized());
    v.expect_value();
    EXPECT_EQ(v.value_extents(), shape{1});
  });
}

TEST(variable_state, is_read_after_an_update_that_writes_in_place) {
  variable_state v("v", of<float>);
  v.assign(tensor(1.f));
  std::thread reading;
  during_an_update(v, [&] { reading = std::thread([&] { EXPECT_EQ(v.read().item<float>(), 2); }); });
  reading.join();
}

// Host memory that asks the variable for its value whenever some is given back, as a user's allocator might.
class asking_memory final : public allocator {
 public:
  variable_state* about = nullptr;

 private:
  void* acquire(std::size_t bytes) noexcept override {
    return ::operator new(bytes, std::align_val_t(64), std::nothrow);
  }
  void release(void* p, std::size_t) noexcept override {
    if (about) about->read();
    ::operator delete(p, std::align_val_t(64));
  }
};

TEST(variable_state, gives_memory_back_without_its_lock) {
  asking_memory memory;
  variable_state v("v", of<float, unknown>);
  v.assign(tensor(dtype::float32, {4}, memory));
  memory.about = &v;
  v.assign(tensor(dtype::float32, {2}, memory));
  v.overwrite({3}, memory, [](tensor& t) { std::fill_n(t.mutable_data<float>(), 3, 1.f); });
  EXPECT_TRUE(same_bits(v.read(), vector<float>({1, 1, 1})));
  memory.about = nullptr;
  v.reset();
}

TEST(variable_state, takes_a_first_value_only_if_it_has_none) {
  variable_state v("v", of<float, "n">);
  auto const fill = [](float x) { return [x](tensor& t) { std::fill_n(t.mutable_data<float>(), t.elements(), x); }; };
  EXPECT_EQ(refusal([&] { v.initialize({2, 2}, host_allocator(), fill(1)); }), code::invalid_argument);
  EXPECT_THROW(v.initialize({2}, host_allocator(), [](tensor&) { throw error(code::aborted, "no"); }), error);
  EXPECT_FALSE(v.initialized());
  EXPECT_TRUE(v.initialize({2}, host_allocator(), fill(1)));
  EXPECT_FALSE(v.initialize({3}, host_allocator(), fill(2)));
  EXPECT_TRUE(same_bits(v.read(), vector<float>({1, 1})));
  auto const snapshot = v.read();
  v.update([](tensor& t) { t.mutable_data<float>()[0] = 5; });
  EXPECT_FALSE(v.initialize({2}, host_allocator(), fill(3)));
  EXPECT_TRUE(same_bits(v.read(), vector<float>({5, 1})));
  v.reset();
  EXPECT_TRUE(v.initialize({1}, host_allocator(), fill(4)));
  EXPECT_TRUE(same_bits(v.read(), vector<float>({4})));
}

TEST(variable_state, takes_one_of_the_first_values_that_many_threads_offer) {
  for (int round = 0; round < 50; ++round) {
    variable_state v("v", of<std::int64_t>);
    std::atomic<int> taken = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        taken += v.initialize({}, host_allocator(), [&](tensor& t) { *t.mutable_data<std::int64_t>() = 100 * i; });
        v.update([](tensor& t) { ++*t.mutable_data<std::int64_t>(); });
      });
    for (auto& t : threads) t.join();
    EXPECT_EQ(taken, 1);
    EXPECT_EQ(v.read().item<std::int64_t>() % 100, 4) << "no update is lost";
  }
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
