#include "rill/ops/queues/batch_by_length.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "io/scratch.hpp"
#include "rill/graph/codec.hpp"
#include "rill/io.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

/// Files of lines of JSON, each with numbers, of which the first says which line it is.
class batch_by_length : public testing::Test {
 protected:
  std::string file(char const* name, std::vector<std::int64_t> const& lengths) const {
    std::string text;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      text += "{\"x\": [";
      for (std::int64_t k = 0; k < lengths[i]; ++k) text += (k == 0 ? "" : ", ") + std::to_string(i + 1);
      text += "], \"n\": " + std::to_string(lengths[i]) + "}\n";
    }
    write_file(path(name), text);
    return path(name);
  }
  std::string path(char const* name) const { return (folder_ / name).string(); }
  static auto numbers(graph& g, std::string const& file, std::int64_t many = 1) {
    return decode_json(text_reader(g, {file}, epochs(many)).next(), named_field<of<std::int32_t>>{"n"},
                       named_field<of<std::int32_t, unknown>>{"x"});
  }
  /// The batches until the input ends, a row of numbers a line.
  template <class B> static std::vector<std::string> all(session& s, B const& batch, int most = -1) {
    std::vector<std::string> made;
    try {
      for (; most != 0; --most) {
        auto const [lengths, rows] = s.run(std::get<0>(batch), std::get<1>(batch));
        EXPECT_EQ(lengths.shape()[0], rows.shape()[0]);
        std::string text;
        for (std::int64_t r = 0; r < rows.shape()[0]; ++r) {
          for (std::int64_t k = 0; k < rows.shape()[1]; ++k)
            text += std::to_string(rows.template at<std::int32_t>(r, k));
          text += " ";
        }
        made.push_back(text);
      }
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::out_of_range) << e.what();
    }
    return made;
  }
  using list = std::vector<std::string>;

 private:
  scratch folder_;
};

TEST_F(batch_by_length, brings_examples_of_like_lengths_padded_to_the_longest) {
  auto const from = file("a", {1, 4, 2, 3, 9, 2, 1, 0, 5, 6, 4});
  graph g;
  auto const [n, x] = numbers(g, from);
  auto const whole = rill::batch_by_length<2>({.bounds = {2, 4}}, n, x);
  static_assert(
      std::same_as<decltype(whole), std::tuple<expr<of<std::int32_t, 2>>, expr<of<std::int32_t, 2, unknown>>> const>);
  auto const [m, y] = numbers(g, from);
  auto const rest = batch_by_length_up_to<2>({.bounds = {2, 4}}, m, y);
  session s(g);
  s.run(initializer(g));
  start_input(s);
  // The lines: 1, 2222, 33, 444, 555555555, 66, 7, (), 99999, 10 six times, 11 four times.
  list const complete{"10 33 ", "2222 4440 ", "66 70 ", "555555555 999990000 "};
  auto const made = all(s, whole), more = all(s, rest);
  EXPECT_EQ(made, complete);
  ASSERT_EQ(more.size(), 7);
  EXPECT_TRUE(std::equal(complete.begin(), complete.end(), more.begin()));
  EXPECT_EQ(list(more.begin() + 4, more.end()), (list{" ", "11111111 ", "101010101010 "}));  // bucket by bucket
}

TEST_F(batch_by_length, has_the_same_order_in_each_run_with_one_thread_and_loses_nothing_with_many) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 200; ++i) lengths.push_back(i * 37 % 23);
  auto const from = file("a", lengths);
  auto const run = [&](std::int64_t threads, std::int64_t capacity) {
    graph g;
    auto const [n, x] = numbers(g, from, 2);
    auto const b =
        prefetch(batch_by_length_up_to<8>({.bounds = {3, 7, 15}, .threads = threads, .capacity = capacity}, n, x * 1));
    session s(g, {.threads = 2});
    s.run(initializer(g));
    start_input(s);
    std::int64_t total = 0;
    std::vector<std::vector<std::int32_t>> seen;
    try {
      for (;;) {
        auto const l = s.run(std::get<0>(b));
        seen.emplace_back(l.template span<std::int32_t>().begin(), l.template span<std::int32_t>().end());
        auto const bucket = [](std::int32_t length) {
          return length <= 3 ? 0 : length <= 7 ? 1 : length <= 15 ? 2 : 3;
        };
        for (auto each : seen.back()) {
          EXPECT_EQ(bucket(each), bucket(seen.back()[0]));
          total += each;
        }
      }
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::out_of_range) << e.what();
    }
    std::int64_t wanted = 0;
    for (auto each : lengths) wanted += 2 * each;
    EXPECT_EQ(total, wanted);
    return seen;
  };
  auto const once = run(1, 0);
  EXPECT_EQ(run(1, 1), once);  // of a queue that is nearly always full
  EXPECT_EQ(run(1, 500), once);
  run(3, 0);
}

TEST_F(batch_by_length, takes_several_sources_and_travels) {
  auto const a = file("a", {1, 3, 1}), b = file("b", {3, 3});
  graph g;
  auto const first = numbers(g, a), second = numbers(g, b);
  auto const made = batch_by_length_up_to<2>({.bounds = {2}, .name = "both"}, first, second);
  auto const lengths = std::get<0>(made).name();
  auto const again = graph_from_bytes(to_bytes(g), all_operations<io_operations>());
  session s(*again);
  s.run(initializer(*again));
  start_input(s);
  std::vector<std::int64_t> seen;
  try {
    for (;;) {
      auto const batch = s.run({}, std::vector{lengths})[0];
      for (auto each : batch.span<std::int32_t>()) seen.push_back(each);
    }
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::out_of_range) << e.what();
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 1, 3, 3, 3}));
}

TEST_F(batch_by_length, of_a_resumed_run_is_that_of_one_that_was_never_stopped) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 90; ++i) lengths.push_back(i * 5 % 9);
  auto const from = file("a", lengths);
  auto const run = [&](char const* folder, int steps, bool resume) {
    graph g;
    auto const [n, x] = numbers(g, from);
    auto const b = batch_by_length_up_to<4>({.bounds = {1, 3, 5}, .capacity = 8}, n, x);
    session s(g);
    saver checkpoints(g, path(folder));
    if (resume) checkpoints.restore(s);
    else s.run(initializer(g));
    start_input(s);
    auto const made = all(s, b, steps);
    if (steps >= 0) checkpoints.save(s);
    return made;
  };
  auto const never_stopped = run("whole", -1, false);
  auto stopped = run("parts", 3, false);
  for (int steps : {7, -1})
    for (auto const& each : run("parts", steps, true)) stopped.push_back(each);
  EXPECT_EQ(stopped, never_stopped);
}

TEST_F(batch_by_length, refuses_what_makes_no_sense) {
  graph g;
  auto const n = constant(g, 1);
  for (auto const& bounds : {std::vector<std::int64_t>{}, {5, 2}, {-1, 2}})
    EXPECT_NE(sentence([&] { rill::batch_by_length<2>({.bounds = bounds}, n); }).find("not ascending lengths"),
              std::string::npos);
  auto const q = bucket_queue<of<std::int64_t>, of<float>>(g, {.together = 3});
  EXPECT_NE(sentence([&] { q.dequeue(); }).find("must be dequeued together"), std::string::npos);
  EXPECT_NE(sentence([&] { q.dequeue_many<2>(); }).find("is not the bucket queue's"), std::string::npos);
  EXPECT_NE(sentence([&] { bucket_queue<of<std::int64_t>>(g, {}); }).find("needs together >= 1"), std::string::npos);
  EXPECT_NE(sentence([&] { fifo_queue<of<float>>(g, {.together = 3}); }).find("together = 0"), std::string::npos);
  EXPECT_NE(sentence([&] { bucket_queue<of<float>>(g, {.together = 3}); }).find("an int64 scalar"), std::string::npos);
}

}  // namespace
}  // namespace rill
