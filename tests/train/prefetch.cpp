#include "rill/train/prefetch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/device/emulated.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using example_batches = batch_range<tensor_of<of<float, unknown, 2>>, tensor_of<of<std::int32_t, unknown>>>;
static_assert(std::ranges::input_range<prefetch_range<example_batches>>);
static_assert(std::same_as<prefetch_range<example_batches&>::batch, example_batches::batch>);

// Batches of four of `n` examples, two numbers and a label, all of which identify the example.
example_batches numbered(std::int32_t n, epochs many = epochs(2)) {
  tensor x(dtype::float32, {n, 2}), y(dtype::int32, {n});
  for (std::int32_t i = 0; i < n; ++i) {
    x.mutable_data<float>()[2 * i] = x.mutable_data<float>()[2 * i + 1] = static_cast<float>(i);
    y.mutable_data<std::int32_t>()[i] = i;
  }
  return batches(std::tuple{tensor_of<of<float, unknown, 2>>(x), tensor_of<of<std::int32_t, unknown>>(y)}, 4, many,
                 {.seed = 3});
}

// Appends a batch's labels; its features must be of the same examples.
void append(std::vector<std::int32_t>& all, example_batches::batch const& b) {
  tensor const x = std::get<0>(b).to(host), y = std::get<1>(b).to(host);
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    all.push_back(y.at<std::int32_t>(i));
    EXPECT_EQ(x.at<float>(i, 1), static_cast<float>(all.back()));
  }
}
template <class Range> std::vector<std::int32_t> labels(Range&& range, std::size_t most = SIZE_MAX) {
  std::vector<std::int32_t> all;
  if (most > 0)
    for (auto const& b : range) {
      append(all, b);
      if (--most == 0) break;
    }
  return all;
}

// A device that is emulated, but missing on this machine.
class missing_device final : public device {
 public:
  std::string const& name() const noexcept override { return of_->name(); }
  failure absence() const noexcept override { return failed(code::unavailable, "it is not there"); }
  allocator& memory() noexcept override { return of_->memory(); }
  stream& compute() noexcept override { return of_->compute(); }

 private:
  std::shared_ptr<emulated_accelerator> of_ = emulated("accelerator:0");
};

TEST(prefetch, has_the_batches_of_the_range_in_order_on_the_device) {
  auto const fast = emulated("accelerator:0");
  auto const expected = labels(numbered(30));
  for (std::int64_t ahead : {1, 2, 5, 1000}) {
    std::vector<std::int32_t> all;
    for (auto const& b : prefetch(numbered(30), fast, ahead)) {
      EXPECT_EQ(std::get<0>(b).device(), "accelerator:0");
      EXPECT_EQ(std::get<1>(b).device(), "accelerator:0");
      append(all, b);
    }
    EXPECT_EQ(all, expected) << ahead;
  }
  EXPECT_EQ(fast->memory().usage().current, 0);
}

TEST(prefetch, shares_the_memory_of_batches_with_a_device_that_has_the_hosts) {
  tensor const t = vector<float>({1, 2, 3});
  std::vector<tensor> const source{t, t.rows(0, 2)};
  std::size_t i = 0;
  for (auto const& b : prefetch(source, cpu(1, 1))) EXPECT_EQ(b.raw(), source[i++].raw());
  EXPECT_EQ(i, 2u);
  EXPECT_EQ(labels(prefetch(numbered(30), cpu(1, 1))), labels(numbered(30)));
}

TEST(prefetch, leaves_batches_on_the_host_if_the_device_is_missing) {
  std::vector<std::int32_t> all;
  for (auto const& b : prefetch(numbered(10), std::make_shared<missing_device>())) {
    EXPECT_EQ(std::get<0>(b).device(), "host");
    append(all, b);
  }
  EXPECT_EQ(all, labels(numbered(10)));
}

TEST(prefetch, takes_tensors_tuples_pairs_and_arrays) {
  auto const fast = emulated("accelerator:0");
  auto const one = vector<float>({1}), two = vector<float>({2});
  auto const expect_there = [&](tensor const& t, float number) {
    EXPECT_EQ(t.device(), "accelerator:0");
    EXPECT_EQ(t.item<float>(), number);
  };
  for (tensor const& t : prefetch(std::vector<tensor>{one}, fast)) expect_there(t, 1);
  for (auto const& [a] : prefetch(std::vector{std::tuple<tensor>{one}}, fast)) expect_there(a, 1);
  for (auto const& [a, b] : prefetch(std::vector{std::pair{one, two}}, fast)) {
    static_assert(std::same_as<decltype(b), tensor_of<of<float, unknown>> const>);
    expect_there(a, 1), expect_there(b, 2);
  }
  for (auto const& [a, both] : prefetch(std::vector{std::tuple{two, std::array{one, two}}}, fast))
    expect_there(a, 2), expect_there(both[1], 2);
}

TEST(prefetch, leaves_strings_on_the_host) {
  std::vector<std::pair<tensor, tensor>> const source{{vector<std::string>({"a"}), vector<float>({1})}};
  for (auto const& [words, numbers] : prefetch(source, emulated("accelerator:0"))) {
    EXPECT_EQ(words.item<std::string>(), "a");
    EXPECT_EQ(numbers.device(), "accelerator:0");
  }
}

TEST(prefetch, of_an_empty_range_is_empty) {
  auto const fast = emulated("accelerator:0");
  EXPECT_TRUE(labels(prefetch(numbered(0), fast)).empty());
  auto none = prefetch(std::vector<tensor>(), fast);
  EXPECT_TRUE(none.begin() == none.end());
  EXPECT_TRUE(none.begin() == none.end());
}

TEST(prefetch, that_is_never_iterated_draws_nothing) {
  auto source = numbered(10);
  auto const ahead = prefetch(source, emulated("accelerator:0"));
  EXPECT_EQ(ahead.position(), batch_position());
}

TEST(prefetch, draws_while_the_caller_works) {
  std::atomic<int> drawn = 0;
  std::vector<int> const numbers{1, 2, 3, 4, 5, 6};
  auto source = numbers | std::views::transform([&](int i) {
                  drawn = i;
                  drawn.notify_one();
                  return tensor(i);
                });
  auto ahead = prefetch(source, emulated("accelerator:0"), 2);
  auto at = ahead.begin();
  for (int n; (n = drawn) < 4;) drawn.wait(n);  // 2 and 3 wait on the device, and 4 is drawn beside 1
  EXPECT_EQ((*at).item<int>(), 1);
  ++at;
  for (int n; (n = drawn) < 5;) drawn.wait(n);
  EXPECT_EQ((*at).item<int>(), 2);
}

TEST(prefetch, has_no_more_batches_on_the_device_than_it_may) {
  auto const fast = emulated("accelerator:0");
  std::vector<std::int32_t> all;
  for (auto const& [x, y] : prefetch(numbered(400), fast, 3)) all.push_back(static_cast<std::int32_t>(y.elements()));
  EXPECT_EQ(all.size(), 200u);
  EXPECT_LE(fast->memory().usage().peak, 4 * 2 * 64);  // buffers of at most 64 bytes, two of a batch
}

TEST(prefetch, ends_in_the_middle_without_leaks) {
  auto const fast = emulated("accelerator:0");
  for (std::size_t const most : {1u, 2u, 3u, 7u}) {
    EXPECT_EQ(labels(prefetch(numbered(1000), fast, 3), most).size(), 4 * most);
    EXPECT_EQ(fast->memory().usage().current, 0);
  }
}

TEST(prefetch, keeps_batches_of_which_there_are_copies) {
  auto const fast = emulated("accelerator:0");
  std::vector<example_batches::batch> kept;
  for (auto const& b : prefetch(numbered(30), fast)) kept.push_back(b);
  std::vector<std::int32_t> all;
  for (auto const& b : kept) append(all, b);
  EXPECT_EQ(all, labels(numbered(30)));
}

TEST(prefetch, goes_on_in_a_second_loop_and_when_it_is_moved) {
  auto const expected = labels(numbered(30));
  auto ahead = prefetch(numbered(30), emulated("accelerator:0"));
  auto all = labels(ahead, 2);
  auto moved = std::move(ahead);
  auto const rest = labels(moved);
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_EQ(all, expected);
  EXPECT_TRUE(labels(moved).empty());
}

TEST(prefetch, has_the_position_after_the_batch_that_was_got_last) {
  auto const fast = emulated("accelerator:0");
  auto alone = numbered(10);
  auto ahead = prefetch(numbered(10), fast, 3);
  EXPECT_EQ(ahead.position(), batch_position());
  auto i = alone.begin();
  for (auto j = ahead.begin(); j != ahead.end(); ++i, ++j) {
    ASSERT_TRUE(i != alone.end());
    EXPECT_EQ(ahead.position(), alone.position());
  }
  EXPECT_EQ(ahead.position(), (batch_position{2, 0}));
}

TEST(prefetch, resumes_at_a_saved_position) {
  auto const fast = emulated("accelerator:0");
  auto const expected = labels(numbered(10));
  for (std::size_t stop = 0; stop <= 6; ++stop) {
    auto ahead = prefetch(numbered(10), fast);
    auto all = labels(ahead, stop);
    auto const saved = ahead.position();
    labels(ahead, 1);
    auto other = prefetch(numbered(10), fast);
    other.resume(saved);
    ahead.resume(saved);  // of which batches wait
    auto const rest = labels(other);
    EXPECT_EQ(labels(ahead), rest);
    all.insert(all.end(), rest.begin(), rest.end());
    EXPECT_EQ(all, expected) << stop;
  }
  auto ahead = prefetch(numbered(10), fast);
  auto all = labels(ahead, 1);
  EXPECT_THROW(ahead.resume({.epoch = -1}), error);
  auto const rest = labels(ahead);
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_EQ(all, expected);
}

TEST(prefetch, leaves_a_range_at_the_batch_after_the_one_that_was_got_last) {
  auto const fast = emulated("accelerator:0");
  auto source = numbered(10);
  auto all = labels(prefetch(source, fast, 3), 2);
  EXPECT_EQ(source.position(), (batch_position{0, 8}));
  auto const next = labels(source, 1), rest = labels(prefetch(source, fast));
  all.insert(all.end(), next.begin(), next.end());
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_EQ(all, labels(numbered(10)));
}

// Tensors 0 to n - 1, of which the range throws where the last is asked for.
auto failing_after(int n, std::function<void()> fail) {
  return std::views::iota(0, n + 1) | std::views::transform([n, fail](int i) {
           if (i == n) fail();
           return tensor(i);
         });
}

TEST(prefetch, throws_what_the_range_throws_at_that_batch) {
  struct own_exception {
    int number;
  };
  auto const fast = emulated("accelerator:0");
  for (int n : {0, 1, 5}) {
    int got = 0;
    auto ahead = prefetch(failing_after(n, [] { throw own_exception{7}; }), fast);
    try {
      for (auto const& t : ahead) EXPECT_EQ(t.item<int>(), got++);
      ADD_FAILURE();
    } catch (own_exception const& e) {
      EXPECT_EQ(e.number, 7);
    }
    EXPECT_EQ(got, n);
    EXPECT_TRUE(ahead.begin() == ahead.end());  // thrown once
  }
  try {
    for (auto const& t : prefetch(failing_after(1, [] { throw std::bad_alloc(); }), fast)) EXPECT_TRUE(t);
    ADD_FAILURE();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::resource_exhausted);
  }
}

TEST(prefetch, throws_at_the_batch_for_which_there_was_no_room_and_can_try_again) {
  auto const fast = emulated("accelerator:0");
  auto ahead = prefetch(numbered(30), fast);
  fast->memory().fail_at(6);  // the labels of the third batch
  std::vector<std::int32_t> all;
  try {
    for (auto const& b : ahead) append(all, b);
    ADD_FAILURE();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::resource_exhausted);
    EXPECT_NE(e.message().find("accelerator:0"), std::string::npos) << e.what();
  }
  EXPECT_EQ(all.size(), 8u);
  EXPECT_EQ(fast->memory().usage().current, 0);
  ahead.resume(ahead.position());
  for (auto const& b : ahead) append(all, b);
  EXPECT_EQ(all, labels(numbered(30)));
}

TEST(prefetch, drops_an_error_that_nobody_has_come_to) {
  std::atomic<bool> thrown = false;
  auto ahead = prefetch(failing_after(1,
                                      [&] {
                                        thrown = true;
                                        thrown.notify_one();
                                        throw error(code::data_loss, "lost");
                                      }),
                        emulated("accelerator:0"));
  auto const first = ahead.begin();
  thrown.wait(false);
  EXPECT_EQ((*first).item<int>(), 0);
}

TEST(prefetch, refuses_no_device_and_no_batches_ahead) {
  auto const refusal = [](std::shared_ptr<device> on, std::int64_t ahead) {
    try {
      prefetch(std::vector<tensor>(), std::move(on), ahead);
      return std::string("nothing");
    } catch (error const& e) {
      return std::string(e.what());
    }
  };
  EXPECT_EQ(refusal(nullptr, 2), "invalid_argument: prefetch: expected a device, got null");
  EXPECT_EQ(refusal(cpu(1, 1), 0), "invalid_argument: prefetch: expected 1 or more batches ahead, got 0");
}

TEST(prefetch, feeds_steps_on_a_device_to_the_hosts_bits) {
  auto const weights = [](std::shared_ptr<device> const& on) {
    graph g;
    auto const x = placeholder<float, "n", 2>(g);
    auto const y = placeholder<std::int32_t, "n">(g);
    auto const [w, train] = g.on(on ? "accelerator:0" : "cpu:0", [&] {
      auto const v = variable(zeros<float, 2>(g), "w");
      return std::pair(v, gradient_descent{1e-4f}.minimize(mean(square(sum<1>(x * v) - cast<float>(y)))));
    });
    session s{g, {.threads = 1, .devices = on ? std::vector{on} : std::vector<std::shared_ptr<device>>{}}};
    s.run(initializer(g));
    auto source = numbered(50, epochs(3));
    if (on)
      for (auto const& [features, numbers] : prefetch(source, on)) s.run({{x, features}, {y, numbers}}, train);
    else
      for (auto const& [features, numbers] : source) s.run({{x, features}, {y, numbers}}, train);
    return s.get(w).to(host);
  };
  tensor const here = weights(nullptr);
  EXPECT_NE(here.at<float>(0), 0);
  EXPECT_TRUE(same_bits(weights(emulated("accelerator:0")), here));
}

}  // namespace
}  // namespace rill
