#include "rill/train/batches.hpp"

#include <gtest/gtest.h>

#include <set>

#include "io/scratch.hpp"
#include "rill/device/emulated.hpp"
#include "rill/train/folds.hpp"

namespace rill {
namespace {

// Makes `n` examples, two numbers and a label, all of which identify the example.
auto numbered(std::int32_t n) {
  tensor x(dtype::float32, {n, 2}), y(dtype::int32, {n});
  for (std::int32_t i = 0; i < n; ++i) {
    x.mutable_data<float>()[2 * i] = x.mutable_data<float>()[2 * i + 1] = static_cast<float>(i);
    y.mutable_data<std::int32_t>()[i] = i;
  }
  return std::tuple{tensor_of<of<float, unknown, 2>>(x), tensor_of<of<std::int32_t, unknown>>(y)};
}

// Returns the labels of the remaining batches.
template <class Range> std::vector<std::int32_t> labels(Range& range) {
  std::vector<std::int32_t> all;
  for (auto const& [x, y] : range)
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      EXPECT_EQ(x.template at<float>(i, 1), static_cast<float>(y.template at<std::int32_t>(i)));
      all.push_back(y.template at<std::int32_t>(i));
    }
  return all;
}

TEST(batches, of_examples_on_a_device_are_on_the_host_once_they_are_shuffled) {
  auto const fast = emulated("accelerator:0");
  auto const [x, y] = numbered(10);
  auto const there = [&](auto const& t) { return std::remove_cvref_t<decltype(t)>(t.to(fast)); };
  auto range = batches(std::tuple{there(x), there(y)}, 4, epochs(2), {.seed = 3});
  auto same = batches(std::tuple{x, y}, 4, epochs(2), {.seed = 3});
  EXPECT_EQ(labels(range), labels(same));
  for (auto const& [rows, all] : batches(std::tuple{there(x), there(y)}, 5, epochs(1), {.shuffle = false})) {
    EXPECT_EQ(rows.space(), fast->memory().space());
    EXPECT_EQ(all.to(host).template at<std::int32_t>(4) % 5, 4);
  }
  EXPECT_TRUE(same_bits(take_rows(there(x), {3, 1}), take_rows(x, {3, 1})));
}

TEST(batches, contain_every_example_once_per_epoch) {
  auto range = batches(numbered(10), 4, epochs(3));
  EXPECT_EQ(range.per_epoch(), 3);
  EXPECT_EQ(range.total(), 9);
  std::vector<std::int64_t> sizes;
  std::vector<std::int32_t> seen;
  for (auto const& [x, y] : range) {
    static_assert(std::same_as<decltype(x), tensor_of<of<float, unknown, 2>> const>);
    sizes.push_back(x.shape()[0]);
    seen.insert(seen.end(), y.values().begin(), y.values().end());
  }
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 4, 2, 4, 4, 2, 4, 4, 2}));
  ASSERT_EQ(seen.size(), 30u);
  for (int e = 0; e < 3; ++e) EXPECT_EQ(std::set(seen.begin() + 10 * e, seen.begin() + 10 * e + 10).size(), 10u);
  EXPECT_NE(std::vector(seen.begin(), seen.begin() + 10), std::vector(seen.begin() + 10, seen.begin() + 20));
}

TEST(batches, are_the_same_for_the_same_seed) {
  auto a = batches(numbered(50), 7, epochs(2), {.seed = 3}), b = batches(numbered(50), 9, epochs(2), {.seed = 3});
  auto c = batches(numbered(50), 7, epochs(2), {.seed = 4});
  auto const order = labels(a);
  EXPECT_EQ(order, labels(b)) << "for every batch size";
  EXPECT_NE(order, labels(c));
}

TEST(batches, drop_the_last_examples_if_asked) {
  auto range = batches(numbered(10), 4, epochs(2), {.partial = false});
  EXPECT_EQ(range.total(), 4);
  EXPECT_EQ(labels(range).size(), 16u);
  auto none = batches(numbered(3), 4, epochs(2), {.partial = false});
  EXPECT_TRUE(labels(none).empty());
}

TEST(batches, in_order_share_the_examples_memory) {
  auto const examples = numbered(10);
  auto range = batches(examples, 4, epochs(1), {.shuffle = false});
  for (auto const& [x, y] : range) {
    EXPECT_EQ(x.storage(), std::get<0>(examples).storage());
    EXPECT_EQ(y.values()[0], range.position().epoch ? 8 : range.position().index - 4);
  }
}

TEST(batches, reuse_one_buffer_unless_the_caller_keeps_it) {
  auto range = batches(numbered(12), 4, epochs(2));
  std::set<void const*> places;
  for (auto const& [x, y] : range) places.insert(x.raw());
  EXPECT_EQ(places.size(), 1u);
  std::vector<tensor> kept, copies;
  auto again = batches(numbered(12), 4);
  for (auto const& [x, y] : again) kept.push_back(x), copies.push_back(x.clone());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(kept[i], copies[i]));
}

TEST(batches, of_one_size_keep_it_where_batches_of_another_size_stopped) {
  auto whole = batches(std::tuple{tensor(dtype::int32, {10})}, 4, epochs(2), {.partial = false});
  whole.resume({.epoch = 0, .index = 3});
  std::vector<std::int64_t> sizes;
  for (auto const& [x] : whole) sizes.push_back(x.shape()[0]);
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 4, 4}));
  whole.resume({.epoch = 1, .index = 7});  // of which three are left
  EXPECT_EQ(whole.position().epoch, 2);
}

TEST(batches, of_several_workers_contain_every_example_once_per_epoch) {
  for (std::int64_t const workers : {1, 2, 3, 5}) {
    std::vector<std::vector<std::int32_t>> seen(2);
    for (std::int64_t w = 0; w < workers; ++w) {
      auto range = batches(numbered(50), 4, epochs(2), {.seed = 3, .workers = workers, .worker = w});
      EXPECT_EQ(range.total(), 2 * (50 / (4 * workers) + (50 % (4 * workers) >= workers)));
      for (std::int64_t i = 0; i < range.total(); ++i) {
        auto const epoch = static_cast<std::size_t>(range.position().epoch);
        auto const& [x, y] = *range.begin();
        EXPECT_GT(y.elements(), 0);
        seen[epoch].insert(seen[epoch].end(), y.values().begin(), y.values().end());
      }
      EXPECT_TRUE(range.begin() == range.end());
    }
    for (auto& each : seen) {
      std::sort(each.begin(), each.end());
      EXPECT_EQ(std::unique(each.begin(), each.end()), each.end());
      auto const left = 50 % (4 * workers);
      EXPECT_EQ(each.size(), static_cast<std::size_t>(50 - (left < workers ? left : 0)));
    }
  }
}

TEST(batches, of_another_number_of_workers_go_on_at_the_same_example) {
  auto one = batches(numbered(48), 4, epochs(1), {.seed = 3}), whole = batches(numbered(48), 4, epochs(1), {.seed = 3});
  auto const all = labels(whole);
  auto two = batches(numbered(48), 4, epochs(1), {.seed = 3, .workers = 2, .worker = 1});
  two.begin();
  EXPECT_EQ(two.position(), (batch_position{0, 8}));
  one.resume(two.position());
  EXPECT_EQ(labels(one), std::vector<std::int32_t>(all.begin() + 8, all.end()));
  two.resume_after(3);
  EXPECT_EQ(two.position(), (batch_position{0, 24}));
  EXPECT_EQ(labels(two), std::vector<std::int32_t>({all[28], all[29], all[30], all[31], all[36], all[37], all[38],
                                                    all[39], all[44], all[45], all[46], all[47]}));
  two.resume_after(6);
  EXPECT_EQ(two.position(), (batch_position{1, 0}));
}

TEST(batches, refuse_a_worker_that_is_none_of_theirs) {
  for (auto const& [workers, worker] : {std::pair{0, 0}, {2, 2}, {2, -1}})
    EXPECT_NE(sentence([&, n = workers, w = worker] {
                batches(numbered(10), 4, epochs(1), {.workers = n, .worker = w});
              }).find("expected one of the workers, counted from 0"),
              std::string::npos);
  auto range = batches(numbered(10), 4);
  EXPECT_THROW(range.resume_after(-1), error);
}

TEST(batches, resume_at_a_saved_position) {
  for (std::int64_t stop = 0; stop < 9; ++stop) {
    auto whole = batches(numbered(10), 4, epochs(3)), rest = batches(numbered(10), 4, epochs(3));
    auto i = whole.begin();
    for (std::int64_t k = 0; k < stop; ++k) ++i;
    rest.resume(whole.position());
    ++i;
    std::vector<std::int32_t> expected;
    for (; i != whole.end(); ++i)
      expected.insert(expected.end(), std::get<1>(*i).values().begin(), std::get<1>(*i).values().end());
    EXPECT_EQ(labels(rest), expected) << stop;
  }
}

TEST(batches, take_any_element_and_one_tensor_alone) {
  tensor words(dtype::string, {3});
  for (int i = 0; i < 3; ++i) words.mutable_data<std::string>()[i] = std::string(40, static_cast<char>('a' + i));
  std::set<std::string> seen;
  for (auto const& [w] : batches(std::tuple{words}, 2))
    seen.insert(w.span<std::string>().begin(), w.span<std::string>().end());
  EXPECT_EQ(seen.size(), 3u);
  auto none = batches(std::tuple{tensor(dtype::float32, {0, 5})}, 2, epochs(3));
  EXPECT_EQ(none.begin(), none.end());
}

TEST(batches, larger_than_all_examples_contain_them_all) {
  auto all = batches(std::tuple{tensor(dtype::float32, {7, 2})}, INT64_MAX);
  EXPECT_EQ(all.per_epoch(), 1);
  auto const first = all.begin();
  ASSERT_NE(first, all.end());
  EXPECT_EQ(std::get<0>(*first).shape(), (shape{7, 2}));
}

TEST(batches, refuse_what_has_no_examples) {
  tensor const scalar(1.f), two(dtype::float32, {2}), three(dtype::float32, {3});
  EXPECT_EQ(refusal([&] { batches(std::tuple{scalar}, 1); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { batches(std::tuple{two, three}, 1); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { batches(std::tuple{two}, 0); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { batches(std::tuple{two}, 1, epochs(-1)); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { batches(std::tuple{tensor()}, 1); }), code::invalid_argument);
  auto range = batches(std::tuple{two}, 1);
  EXPECT_EQ(refusal([&] { range.resume({0, 3}); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
