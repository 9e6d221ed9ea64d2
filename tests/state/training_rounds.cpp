// The state of synchronous training: rounds, tokens, and sums in the order of the workers.
#include "rill/state/training_rounds.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "rill/rill.hpp"

namespace rill {
namespace {

struct answer {
  bool came = false;
  failure why = {};
};
std::shared_ptr<round_request> request(std::int64_t round, std::int64_t worker, answer& to) {
  auto r = std::make_shared<round_request>();
  r->round = round, r->worker = worker;
  r->finished = [&to](round_request&, failure why) { to.came = true, to.why = std::move(why); };
  return r;
}
bool says(failure const& why, std::string_view what) { return why && why->message().find(what) != std::string::npos; }

TEST(training_rounds, a_worker_stays_in_its_round_until_it_has_waited_for_the_end) {
  training_rounds all("rounds");
  auto const first = all.begin({0, 2, 7});
  EXPECT_EQ(all.begin({0, 2, 7}), first);
  EXPECT_EQ(all.begin({1, 2, 7}), first);
  answer one, two;
  all.wait(request(first, 0, one));
  EXPECT_FALSE(one.came);
  all.end(first);
  EXPECT_TRUE(one.came && !one.why);
  all.end(first);  // the chief repeats its step
  EXPECT_EQ(all.begin({0, 2, 7}), first + 1);
  EXPECT_EQ(all.begin({1, 2, 7}), first);
  all.wait(request(first, 1, two));
  EXPECT_TRUE(two.came && !two.why);
  EXPECT_EQ(all.begin({1, 2, 7}), first + 1);
}

TEST(training_rounds, the_chief_says_which_graph_is_trained) {
  training_rounds all("rounds");
  auto const early = all.begin({1, 2, 8});
  answer waits;
  all.wait(request(early, 1, waits));
  auto const first = all.begin({0, 2, 7});
  EXPECT_NE(first, early);
  EXPECT_TRUE(waits.came && waits.why && waits.why->code() == code::aborted);
  for (training_worker const& other : {training_worker{1, 2, 8}, training_worker{1, 3, 7}}) try {
      all.begin(other);
      ADD_FAILURE() << "nothing was thrown";
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::failed_precondition);
    }
  EXPECT_THROW(all.begin({2, 2, 7}), error);
  EXPECT_THROW(all.begin({-1, 2, 7}), error);
  EXPECT_EQ(all.begin({1, 2, 7}), first);
  answer late;
  all.wait(request(early, 1, late));
  EXPECT_TRUE(late.why && late.why->code() == code::aborted);
}

TEST(training_rounds, of_a_generation_begin_anew_for_whoever_comes_first) {
  training_rounds all("rounds");
  auto const first = all.begin({1, 2, 7, 5});
  EXPECT_EQ(first >> 32, 5);
  EXPECT_EQ(all.begin({0, 2, 7, 5}), first);
  all.end(first);
  answer waits;
  all.wait(request(first + 1, 0, waits));
  EXPECT_EQ(all.begin({1, 2, 7, 6}) >> 32, 6);
  EXPECT_TRUE(waits.came && waits.why && waits.why->code() == code::aborted);
  EXPECT_EQ(all.begin({0, 2, 7, 6}), std::int64_t{6} << 32);
  EXPECT_THROW(all.begin({0, 2, 8, 6}), error);  // another graph can't begin anew in a generation
  training_rounds::expect_generation(std::int64_t{6} << 32, 6);
  training_rounds::expect_generation(std::int64_t{6} << 32, 0);
  EXPECT_THROW(training_rounds::expect_generation(std::int64_t{5} << 32, 6), error);
}

TEST(training_rounds, a_wait_that_is_given_up_says_what_for) {
  training_rounds all("rounds");
  answer got;
  auto const r = request(all.begin({1, 2, 7}), 1, got);
  all.wait(r);
  all.give_up(*r, failed(code::deadline_exceeded, "too late"));
  EXPECT_TRUE(says(got.why, "too late, waiting for worker 0 of 2 to update the variables"));
  got = {};
  all.give_up(*r, failed(code::deadline_exceeded, "too late"));
  EXPECT_FALSE(got.came);
}

TEST(round_sum, adds_in_the_order_of_the_workers_and_each_gradient_once) {
  tensor const x[] = {vector<float>({1e8f, 1}), vector<float>({1, 2}), vector<float>({-1e8f, 3})};
  for (auto const& order : {std::vector{0, 1, 2}, std::vector{2, 1, 0}, std::vector{1, 2, 0}, std::vector{2, 0, 1}}) {
    round_sum sum("w");
    answer got;
    auto const r = request(5, 0, got);
    sum.take(r);
    for (auto i : order) {
      EXPECT_FALSE(got.came);
      sum.add(5, i, 3, {x[i]});
      sum.add(5, i, 3, {vector<float>({100, 100})});
    }
    ASSERT_TRUE(got.came && !got.why);
    float const first = ((1e8f + 1) + -1e8f) / 3;
    EXPECT_TRUE(same_bits(r->average.at(0), vector<float>({first, 2})));
    auto const again = request(5, 0, got = {});
    sum.take(again);
    EXPECT_TRUE(got.came && same_bits(again->average.at(0), r->average.at(0)));
  }
}

TEST(round_sum, a_step_of_a_past_round_that_is_repeated_disturbs_no_later_one) {
  round_sum sum("w");
  sum.add(1, 0, 2, {vector<float>({1})});
  sum.add(1, 1, 2, {vector<float>({3})});
  answer later, past;
  auto const wanted = request(2, 0, later);
  sum.take(wanted);
  sum.add(2, 0, 2, {vector<float>({5})});
  sum.add(1, 1, 2, {vector<float>({100})});  // of a worker whose step had timed out
  sum.take(request(1, 1, past));
  EXPECT_TRUE(says(past.why, "another round has begun"));
  EXPECT_FALSE(later.came);
  sum.add(2, 1, 2, {vector<float>({7})});
  ASSERT_TRUE(later.came && !later.why);
  EXPECT_TRUE(same_bits(wanted->average.at(0), vector<float>({6})));
}

TEST(round_sum, puts_sparse_gradients_one_after_the_other) {
  round_sum sum("table");
  answer got;
  auto const r = request(1, 0, got);
  sum.add(1, 1, 2, {vector<std::int64_t>({7}), tensor::copy<float>(std::vector<float>{4, 6}, shape{1, 2})});
  sum.add(1, 0, 2, {vector<std::int64_t>({3, 7}), tensor::copy<float>(std::vector<float>{1, 2, 3, 4}, shape{2, 2})});
  sum.take(r);
  ASSERT_TRUE(got.came);
  EXPECT_TRUE(same_bits(r->average.at(0), vector<std::int64_t>({3, 7, 7})));
  EXPECT_TRUE(same_bits(r->average.at(1), tensor::copy<float>(std::vector<float>{.5f, 1, 1.5f, 2, 2, 3}, shape{3, 2})));
}

TEST(round_sum, adds_16_bit_floats_in_32_bits_and_averages_sparse_ones) {
  round_sum sum("w");
  answer got;
  auto const r = request(1, 0, got);
  sum.add(1, 1, 3, {vector<half>({half(1), half(60000)})});
  sum.add(1, 0, 3, {vector<half>({half(2048), half(60000)})});
  sum.add(1, 2, 3, {vector<half>({half(1), half(60000)})});
  sum.take(r);
  ASSERT_TRUE(got.came && !got.why);
  EXPECT_TRUE(same_bits(r->average.at(0), vector<half>({half(2050 / 3.f), half(60000)})));
  auto const row = [](float a, float b) { return tensor::copy<half>(std::vector{half(a), half(b)}, shape{1, 2}); };
  round_sum table("table");
  answer rows;
  auto const sparse = request(1, 0, rows);
  table.add(1, 0, 2, {vector<std::int64_t>({3}), row(1, 2)});
  table.add(1, 1, 2, {vector<std::int64_t>({7}), row(4, 5)});
  table.take(sparse);
  ASSERT_TRUE(rows.came && !rows.why);
  EXPECT_TRUE(same_bits(sparse->average.at(1).rows(0, 1), row(.5f, 1)));
  EXPECT_TRUE(same_bits(sparse->average.at(1).rows(1, 2), row(2, 2.5f)));
}

TEST(round_sum, refuses_what_does_not_fit_and_says_who_is_missing) {
  round_sum sum("w");
  sum.add(1, 0, 3, {vector<float>({1, 2})});
  EXPECT_THROW(sum.add(1, 1, 3, {vector<float>({1, 2, 3})}), error);
  EXPECT_THROW(sum.add(1, 1, 3, {vector<double>({1, 2})}), error);
  EXPECT_THROW(sum.add(1, 1, 3, {vector<std::int64_t>({1, 2}), vector<float>({1, 2})}), error);
  EXPECT_THROW(sum.add(1, 3, 3, {vector<float>({1, 2})}), error);
  EXPECT_THROW(sum.add(1, 0, std::int64_t{1} << 40, {vector<float>({1, 2})}), error);
  answer got;
  auto const r = request(1, 0, got);
  sum.take(r);
  sum.give_up(*r, failed(code::deadline_exceeded, "too late"));
  EXPECT_TRUE(says(got.why, "waiting for the gradients of 'w', which these of 3 workers have not added: 1, 2"));
  sum.take(request(1, 0, got = {}));
  sum.add(2, 0, 3, {vector<float>({1, 2})});
  EXPECT_TRUE(says(got.why, "another round has begun"));
}

}  // namespace
}  // namespace rill
