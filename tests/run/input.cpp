#include "rill/run/input.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <thread>

#include "base/sentence.hpp"
#include "io/scratch.hpp"
#include "rill/io.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

/// Files of this test alone, whose lines are numbers.
class input : public testing::Test {
 protected:
  std::string path(std::string const& name) const { return (folder_ / name.c_str()).string(); }
  std::string lines(std::string const& name, int first, int last) const {
    std::string text;
    for (int i = first; i < last; ++i) text += std::to_string(i) + "\n";
    write_file(path(name), text);
    return path(name);
  }
  /// The number of a reader's next line.
  static auto numbers(graph& g, std::vector<std::string> files, std::string name = "reader", epochs many = epochs(1)) {
    return decode_csv<of<std::int32_t>>(csv_reader(g, std::move(files), many, std::move(name)).next());
  }
  /// Runs a batch of numbers until the input ends.
  template <class X> static std::vector<std::vector<int>> all(session& s, X batch) {
    std::vector<std::vector<int>> made;
    try {
      for (;;) made.push_back(list(s.run(batch)));
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::out_of_range) << e.what();
    }
    return made;
  }
  static std::vector<int> list(tensor const& t) {
    auto const v = t.span<std::int32_t>();
    return {v.begin(), v.end()};
  }
  static std::vector<int> flat(std::vector<std::vector<int>> const& batches) {
    std::vector<int> numbers;
    for (auto const& b : batches) numbers.insert(numbers.end(), b.begin(), b.end());
    return numbers;
  }
  static std::vector<int> count_to(int n) {
    std::vector<int> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  static std::vector<int> sorted(std::vector<int> v) {
    std::sort(v.begin(), v.end());
    return v;
  }

 private:
  scratch folder_;
};

TEST_F(input, comes_as_batches_until_it_ends_and_what_is_left_is_dropped_or_a_smaller_batch) {
  auto const file = lines("a.csv", 0, 10);
  graph g;
  auto const [x] = numbers(g, {file}, "x");
  auto const [y] = numbers(g, {file}, "y");
  auto const whole = batch<4>(x);
  static_assert(std::same_as<decltype(whole), expr<of<std::int32_t, 4>> const>);
  auto const rest = batch_up_to<4>(y);
  static_assert(std::same_as<decltype(rest), expr<of<std::int32_t, unknown>> const>);
  session s(g);
  s.run(initializer(g));
  start_input(s);
  start_input(s);  // they run already
  EXPECT_EQ(all(s, whole), (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(all(s, rest), (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
}

TEST_F(input, has_several_threads_and_several_sources) {
  auto const a = lines("a.csv", 0, 500), b = lines("b.csv", 500, 1000);
  graph g;
  auto const [x] = numbers(g, {a}, "x");
  auto const [y] = numbers(g, {b}, "y");
  auto const [half, number] =
      batch_up_to<8>({.threads = 3}, std::tuple{cast<float>(x) * 0.5f, x}, std::tuple{cast<float>(y) * 0.5f, y});
  session s(g, {.threads = 2});
  s.run(initializer(g));
  start_input(s);
  std::vector<int> seen;
  try {
    for (;;) {
      auto const [h, n] = s.run(half, number);
      for (std::size_t i = 0; i < n.span<std::int32_t>().size(); ++i) {
        seen.push_back(n.span<std::int32_t>()[i]);
        EXPECT_EQ(h.span<float>()[i], static_cast<float>(seen.back()) / 2);
      }
    }
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::out_of_range) << e.what();
  }
  EXPECT_EQ(sorted(seen), count_to(1000));
}

TEST_F(input, that_is_shuffled_by_one_thread_has_the_same_order_in_each_run_whoever_is_faster) {
  auto const file = lines("a.csv", 0, 300);
  std::vector<std::vector<int>> orders;
  for (bool slow : {false, true, false}) {
    graph g;
    auto const [x] = numbers(g, {file});
    auto const b = shuffle_batch_up_to<16>({.min_after_dequeue = 40, .seed = 7, .capacity = slow ? 41 : 500}, x);
    session s(g);
    s.run(initializer(g));
    start_input(s);
    std::vector<int> seen;
    try {
      for (;;) {
        if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        auto const next = list(s.run(b));
        seen.insert(seen.end(), next.begin(), next.end());
      }
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::out_of_range) << e.what();
    }
    orders.push_back(seen);
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_EQ(orders[0], orders[2]);
  EXPECT_EQ(sorted(orders[0]), count_to(300));
  EXPECT_NE(orders[0], count_to(300));
  // An example leaves at most 40 places before its turn.
  for (std::size_t i = 0; i < orders[0].size(); ++i) EXPECT_LE(orders[0][i], static_cast<int>(i) + 40);
}

TEST_F(input, is_made_ahead_and_its_error_reaches_the_training_through_every_stage) {
  write_file(path("bad.csv"), "0\n1\n2\nthree\n4\n");
  graph g;
  auto const [x] = numbers(g, {path("bad.csv")});
  auto const [ahead, twice] = prefetch(batch<2>({.name = "pairs"}, x) * 10, constant(g, 2));
  static_assert(std::same_as<decltype(ahead), expr<of<std::int32_t, 2>> const>);
  session s(g);
  s.run(initializer(g));
  start_input(s);
  EXPECT_EQ(list(s.run(ahead)), (std::vector{0, 10}));
  auto const said = sentence([&] { s.run(ahead, twice); });
  EXPECT_NE(said.find("three"), std::string::npos) << said;
}

TEST_F(input, has_ended_where_its_readers_have_and_no_other_error_is_taken_for_that) {
  auto const said = [&](std::vector<std::int64_t> const& place, code c, char const* words, auto spoil) {
    lines("a.csv", 0, 6);
    graph g;
    auto const reader = csv_reader(g, {path("a.csv")}, epochs(1), "r");
    auto const [row] = decode_csv<of<std::int32_t>>(reader.next());
    auto const b = batch<2>(gather(constant<float, 6>(g, {0, 1, 2, 3, 4, 5}), row));
    session s(g);
    s.run(initializer(g));
    s.run(assign(variable_value{reader.place()}, constant(g, tensor::copy<std::int64_t>(place, {4}))));
    spoil();
    start_input(s);
    auto const e = error_of([&] {
      for (;;) s.run(b);
    });
    EXPECT_EQ(e.code(), c) << e.what();
    EXPECT_NE(e.message().find(words), std::string::npos) << e.what();
  };
  said({0, 0, 0, 0}, code::out_of_range, "closed and has too few elements", [] {});
  said({0, 0, 0, 0}, code::invalid_argument, "index 0 is 6, and there are 6 rows", [&] { lines("a.csv", 5, 9); });
  said({0, 0, 8, 4}, code::data_loss, "can't move to byte 8", [&] { lines("a.csv", 0, 1); });
  said({0, 5, 0, 0}, code::failed_precondition, "has fewer files", [] {});
  said({0, 0, 0, 0}, code::failed_precondition, "have no records", [&] { lines("a.csv", 0, 0); });
  said({0, 0, 0, 0}, code::not_found, "no file matches", [&] { std::filesystem::remove(path("a.csv")); });
}

TEST_F(input, whose_threads_wait_at_a_full_queue_ends_with_the_session) {
  auto const file = lines("a.csv", 0, 10);
  graph g;
  auto const [x] = numbers(g, {file}, "reader", epochs(-1));
  auto const b = prefetch({.capacity = 1}, shuffle_batch<4>({.min_after_dequeue = 3, .threads = 2}, x));
  session s(g);
  s.run(initializer(g));
  start_input(s);
  s.run(b);
}

TEST_F(input, of_a_resumed_run_is_that_of_one_that_was_never_stopped) {
  auto const file = lines("a.csv", 0, 200);
  auto const run = [&](std::string const& folder, int steps, bool resume) {
    graph g;
    auto const [x] = numbers(g, {file});
    auto const b = prefetch(shuffle_batch_up_to<8>({.min_after_dequeue = 30, .seed = 3}, x));
    session s(g);
    saver checkpoints(g, path(folder));
    if (resume) checkpoints.restore(s);
    else s.run(initializer(g));
    start_input(s);
    std::vector<int> seen;
    try {
      for (int i = 0; i != steps; ++i) {
        auto const next = list(s.run(b));
        seen.insert(seen.end(), next.begin(), next.end());
      }
      checkpoints.save(s);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::out_of_range) << e.what();
    }
    return seen;
  };
  auto const never_stopped = run("whole", -1, false);
  auto stopped = run("parts", 5, false);
  for (int steps : {9, -1}) {
    auto const more = run("parts", steps, true);
    EXPECT_FALSE(more.empty());
    stopped.insert(stopped.end(), more.begin(), more.end());
  }
  EXPECT_EQ(stopped, never_stopped);
  EXPECT_EQ(sorted(stopped), count_to(200));
}

TEST_F(input, of_many_threads_loses_and_doubles_nothing_when_it_is_saved_again_and_again) {
  auto const file = lines("a.csv", 0, 400);
  std::vector<int> seen;
  for (int session_number = 0; session_number < 4; ++session_number) {
    graph g;
    auto const [x] = numbers(g, {file});
    auto const b = prefetch({.capacity = 3, .threads = 2},
                            shuffle_batch_up_to<4>({.min_after_dequeue = 10, .threads = 3, .capacity = 12}, x));
    session s(g);
    saver checkpoints(g, path("many"));
    if (session_number > 0) checkpoints.restore(s);
    else s.run(initializer(g));
    start_input(s);
    if (session_number == 3) {
      auto const last = flat(all(s, b));
      seen.insert(seen.end(), last.begin(), last.end());
      break;
    }
    for (int i = 0; i < 20; ++i) {
      auto const next = list(s.run(b));
      seen.insert(seen.end(), next.begin(), next.end());
      if (i % 5 == 4) checkpoints.save(s);
    }
  }
  EXPECT_EQ(sorted(seen), count_to(400));
}

TEST_F(input, refuses_what_makes_no_sense) {
  graph g;
  auto const x = constant(g, 1.f);
  EXPECT_NE(sentence([&] { batch<2>({.threads = 0}, x); }).find("at least one thread"), std::string::npos);
  EXPECT_NE(sentence([&] {
              shuffle_batch<2>({.min_after_dequeue = 5, .capacity = 5}, x);
            }).find("min_after_dequeue must be less"),
            std::string::npos);
  EXPECT_NE(sentence([&] { prefetch({.capacity = -1}, x); }).find("capacity"), std::string::npos);
}

}  // namespace
}  // namespace rill
