#include "rill/state/accumulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <functional>
#include <optional>
#include <utility>

#include "base/sentence.hpp"

namespace rill {
namespace {

using dense = accumulator_state<dense_sum>;
using sparse = accumulator_state<sparse_sum>;

// Somebody who waits for an average, and how that ended.
template <class State> struct asked {
  std::shared_ptr<typename State::request> request = std::make_shared<typename State::request>();
  std::shared_ptr<std::vector<failure>> ends = std::make_shared<std::vector<failure>>();

  asked(State& at, std::int64_t wanted) {
    request->wanted = wanted;
    request->finished = [all = ends](auto&, failure why) { all->push_back(std::move(why)); };
    at.take(request);
  }
  bool served() const { return ends->size() == 1 && !ends->front(); }
};

sparse_sum::part rows(std::initializer_list<std::int64_t> which, tensor values) { return {vector(which), values}; }

TEST(dense_accumulator, gives_the_average_of_all_that_came_and_begins_anew) {
  dense a("a", of<float, 2>);
  asked const first(a, 2), second(a, 1);
  auto const gradient = vector<float>({1, 2});
  EXPECT_TRUE(a.apply(gradient, 0));
  EXPECT_TRUE(first.ends->empty());
  EXPECT_TRUE(a.apply(vector<float>({3, 6}), 0));
  ASSERT_TRUE(first.served());
  EXPECT_TRUE(same_bits(first.request->average[0], vector<float>({2, 4})));
  EXPECT_TRUE(same_bits(gradient, vector<float>({1, 2}))) << "what was applied is not the sum";
  EXPECT_EQ(a.step(), 1);
  EXPECT_EQ(a.count(), 0);
  EXPECT_TRUE(second.ends->empty()) << "it waits for one of its own";
  EXPECT_TRUE(a.apply(vector<float>({5, 5}), 1));
  EXPECT_TRUE(second.served());
}

TEST(dense_accumulator, drops_gradients_of_earlier_steps) {
  dense a("a", of<float, 1>);
  a.set_step(3);
  EXPECT_FALSE(a.apply(vector<float>({1}), 2));
  EXPECT_EQ(a.count(), 0);
  EXPECT_TRUE(a.apply(vector<float>({1}), 3));
  EXPECT_TRUE(a.apply(vector<float>({1}), 9)) << "later steps count";
  EXPECT_EQ(a.count(), 2);
}

TEST(dense_accumulator, averages_every_element_type_that_has_derivatives) {
  auto const average = [](tensor const& x, tensor const& y) {
    dense a("a", x.type());
    a.apply(x, 0), a.apply(y, 0);
    asked const all(a, 1);
    return all.request->average[0];
  };
  EXPECT_TRUE(same_bits(average(vector<half>({half(1.f)}), vector<half>({half(2.f)})), vector<half>({half(1.5f)})));
  EXPECT_TRUE(same_bits(average(vector<bfloat16>({bfloat16(1.f)}), vector<bfloat16>({bfloat16(2.f)})),
                        vector<bfloat16>({bfloat16(1.5f)})));
  EXPECT_TRUE(same_bits(average(tensor(1.), tensor(2.)), tensor(1.5)));
  using complex = std::complex<float>;
  EXPECT_TRUE(same_bits(average(tensor(complex(1, 2)), tensor(complex(3, 4))), tensor(complex(2, 3))));
  EXPECT_EQ(average(tensor(dtype::float32, {0}), tensor(dtype::float32, {0})).elements(), 0);
}

TEST(dense_accumulator, adds_16_bit_floats_in_32_bits) {
  dense a("a", of<half, 2>);
  for (int i = 0; i < 5000; ++i) a.apply(vector<half>({half(1), half(60000)}), 0);
  asked const all(a, 1);
  EXPECT_TRUE(same_bits(all.request->average[0], vector<half>({half(1), half(60000)})));
}

TEST(dense_accumulator, refuses_other_extents_and_keeps_what_it_has) {
  dense a("a", of<float, unknown>);
  a.apply(vector<float>({1, 2}), 0);
  EXPECT_EQ(sentence([&] { a.apply(vector<float>({1, 2, 3}), 0); }),
            "invalid_argument: expected a gradient of [2], as added to this accumulator before, got one of [3]");
  EXPECT_EQ(a.count(), 1);
  asked const one(a, 1);
  EXPECT_TRUE(same_bits(one.request->average[0], vector<float>({1, 2})));
}

TEST(dense_accumulator, serves_the_next_when_the_first_in_line_gives_up) {
  dense a("a", of<float, 1>);
  asked const many(a, 5), few(a, 2);
  a.apply(vector<float>({1}), 0), a.apply(vector<float>({3}), 0);
  EXPECT_TRUE(few.ends->empty()) << "they are served in their order";
  a.give_up(*many.request, failed(code::deadline_exceeded, "late"));
  ASSERT_EQ(many.ends->size(), 1u);
  EXPECT_EQ(many.ends->front()->code(), code::deadline_exceeded);
  ASSERT_TRUE(few.served());
  EXPECT_TRUE(same_bits(few.request->average[0], vector<float>({2})));
  a.give_up(*few.request, failed(code::cancelled, "it has been served"));
  EXPECT_TRUE(few.served());
}

// Runs a loop's chunks, the last one first, and `meanwhile` before the first.
struct loop {
  std::function<void()> meanwhile;
  int chunks_run = 0;

  parallel threads() {
    return {[](void* context, std::size_t chunks, parallel::body body, void* argument) {
              auto& here = *static_cast<loop*>(context);
              if (here.meanwhile) std::exchange(here.meanwhile, {})();
              for (auto i = chunks; i-- > 0; ++here.chunks_run) body(argument, i);
            },
            this, 4};
  }
};

TEST(dense_accumulator, shares_its_sums_and_averages_out_among_threads_with_the_same_bits) {
  auto const average = [](parallel const& threads) {
    dense a("a", of<float, unknown>);
    for (int k = 1; k < 4; ++k) {
      tensor x(dtype::float32, {100000});
      for (int i = 0; i < 100000; ++i) x.mutable_data<float>()[i] = 0.1f * static_cast<float>(i * k % 997);
      a.apply(x, 0, threads);
    }
    asked<dense> who(a, 100);
    a.give_up(*who.request, nullptr);
    auto const r = std::make_shared<dense::request>();
    r->wanted = 3;
    r->finished = [](auto&, failure why) { EXPECT_EQ(why, nullptr); };
    a.take(r, threads);
    return r->average.at(0);
  };
  loop shared;
  EXPECT_TRUE(same_bits(average(shared.threads()), average({})));
  EXPECT_EQ(shared.chunks_run, 3 * 7) << "two sums and the average";
}

TEST(dense_accumulator, answers_while_a_gradient_is_added) {
  dense a("a", of<float, unknown>);
  auto const x = [](float each) {
    tensor t(dtype::float32, {40000});
    std::fill_n(t.mutable_data<float>(), 40000, each);
    return t;
  };
  a.apply(x(1), 0);
  std::optional<asked<dense>> who;
  loop l{[&] {
    EXPECT_EQ(a.count(), 1);
    EXPECT_EQ(a.step(), 0);
    who.emplace(a, 1);
    EXPECT_FALSE(who->served()) << "it would be given a sum that is being written";
  }};
  EXPECT_TRUE(a.apply(x(3), 0, l.threads()));
  ASSERT_TRUE(who->served());
  EXPECT_TRUE(same_bits(who->request->average[0], x(2)));
  a.apply(x(1), 1);
  loop reset{[&] { a.reset(); }};
  EXPECT_TRUE(a.apply(x(1), 1, reset.threads()));
  EXPECT_EQ(a.count(), 0) << "what was added then is gone with the rest";
  a.apply(x(5), 0);
  asked const last(a, 1);
  EXPECT_TRUE(same_bits(last.request->average.at(0), x(5)));
}

TEST(dense_accumulator, is_as_new_when_it_is_reset) {
  dense a("a", of<float, 1>);
  asked const waits(a, 2);
  a.apply(vector<float>({1}), 0);
  a.reset();
  ASSERT_EQ(waits.ends->size(), 1u);
  EXPECT_EQ(waits.ends->front()->code(), code::aborted);
  EXPECT_EQ(waits.ends->front()->message(), "the accumulator 'a' was reset with its container");
  EXPECT_EQ(a.count(), 0);
  EXPECT_EQ(a.step(), 0);
}

TEST(sparse_accumulator, divides_each_row_by_those_that_came_for_it) {
  sparse a("a", of<float, 9, 2>);
  a.apply(rows({7, 2, 7}, matrix<float>({{1, 1}, {5, 6}, {3, 5}})), 0);
  a.apply(rows({2}, matrix<float>({{7, 8}})), 0);
  asked const both(a, 2);
  ASSERT_TRUE(both.served());
  EXPECT_TRUE(same_bits(both.request->average[0], vector<std::int64_t>({2, 7})));
  EXPECT_TRUE(same_bits(both.request->average[1], matrix<float>({{6, 7}, {2, 3}})));
}

TEST(sparse_accumulator, adds_16_bit_floats_in_32_bits) {
  sparse a("a", of<half, 9, 1>);
  for (int i = 0; i < 3000; ++i) a.apply(rows({7, 7}, tensor::copy<half>(std::vector(2, half(1)), shape{2, 1})), 0);
  asked const all(a, 1);
  EXPECT_TRUE(same_bits(all.request->average[1], tensor::copy<half>(std::vector{half(1)}, shape{1, 1})));
}

TEST(sparse_accumulator, of_no_rows_gives_none) {
  sparse a("a", of<float, 9, 2>);
  a.apply(rows({}, tensor(dtype::float32, {0, 2})), 0);
  asked const one(a, 1);
  ASSERT_TRUE(one.served());
  EXPECT_EQ(one.request->average[0].shape(), (shape{0}));
  EXPECT_EQ(one.request->average[1].shape(), (shape{0, 2}));
}

TEST(sparse_accumulator, refuses_rows_that_its_tensor_has_not_and_keeps_what_it_has) {
  sparse a("a", of<float, 9, 2>);
  for (std::int64_t row : {-1, 9}) {
    auto const text = sentence([&] { a.apply(rows({2, row}, matrix<float>({{1, 1}, {5, 6}})), 0); });
    EXPECT_NE(text.find("index 1 is " + std::to_string(row)), std::string::npos) << text;
  }
  EXPECT_EQ(a.count(), 0);
  a.apply(rows({8}, matrix<float>({{7, 8}})), 0);
  asked const one(a, 1);
  ASSERT_TRUE(one.served());
  EXPECT_TRUE(same_bits(one.request->average[0], vector<std::int64_t>({8})));
}

TEST(sparse_accumulator, fails_who_takes_rows_whose_extents_nobody_knows) {
  sparse a("a", of<float, unknown, unknown>);
  a.apply(rows({}, tensor(dtype::float32, {0, 2})), 0);
  asked const one(a, 1);
  ASSERT_EQ(one.ends->size(), 1u);
  EXPECT_TRUE(one.ends->front());
}

}  // namespace
}  // namespace rill
