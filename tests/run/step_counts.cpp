#include "rill/run/step_counts.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rill {
namespace {

std::uint64_t stream(step_counts& counts, step_uses const& uses, std::string const* client = nullptr) {
  step_context step;
  step.client = client;
  counts.number(step, uses);
  EXPECT_EQ(step.client, nullptr);
  return step.stream;
}

constexpr step_uses draws{.draws = true}, training{.draws = true, .trains = true};

TEST(step_counts, number_all_steps_and_count_those_that_draw) {
  step_counts counts;
  for (std::uint64_t n = 0; n < 5; ++n) {
    step_context step;
    counts.number(step, n % 2 ? draws : step_uses{});
    EXPECT_EQ(step.number, n);
  }
  EXPECT_EQ(counts.begun(), 5u);
  EXPECT_EQ(counts.draws().others.at(""), 2u);
  EXPECT_EQ(counts.draws().training.at(""), 0u);
}

TEST(step_counts, give_training_others_and_each_client_streams_of_their_own) {
  std::string const a = "a", b = "b";
  std::set<std::uint64_t> all;
  step_counts counts;
  for (int i = 0; i < 10; ++i)
    for (auto const& uses : {draws, training})
      for (auto const* client : {static_cast<std::string const*>(nullptr), &a, &b})
        all.insert(stream(counts, uses, client));
  EXPECT_EQ(all.size(), 60u);
}

TEST(step_counts, of_one_client_are_not_shifted_by_others) {
  std::string const a = "a", b = "b";
  step_counts alone, among;
  for (int i = 0; i < 5; ++i) {
    auto const wanted = stream(alone, draws, &a), trained = stream(alone, training);
    for (int k = 0; k < i; ++k) stream(among, draws), stream(among, draws, &b), stream(among, training, &a);
    EXPECT_EQ(stream(among, draws, &a), wanted);
    EXPECT_EQ(stream(among, training), trained);
  }
}

TEST(step_counts, leave_out_steps_that_give_first_values) {
  step_counts counts;
  EXPECT_EQ(stream(counts, {.first_values = true, .draws = true, .trains = true}), first_values_stream);
  EXPECT_EQ(counts.draws().training.at(""), 0u);
}

TEST(step_counts, are_set_for_clients_that_come_later_too) {
  std::string const a = "a", b = "b";
  step_counts counts, other;
  for (int i = 0; i < 7; ++i) stream(other, draws, &a), stream(other, draws, &b);
  stream(counts, draws, &a);
  counts.set(7);
  EXPECT_EQ(counts.begun(), 7u);
  EXPECT_EQ(stream(counts, draws, &a), stream(other, draws, &a));
  EXPECT_EQ(stream(counts, draws, &b), stream(other, draws, &b));
  EXPECT_EQ(stream(counts, draws), 7u);
}

TEST(step_counts, go_on_in_another_session) {
  std::string const a = "a", b = "b", late = "late";
  step_counts counts, other;
  counts.set(3);
  for (int i = 0; i < 4; ++i) stream(counts, draws), stream(counts, training, &a);
  stream(counts, draws, &b);
  other.set(counts.draws());
  EXPECT_EQ(other.draws(), counts.draws());
  for (auto const& uses : {draws, training})
    for (auto const* client : {static_cast<std::string const*>(nullptr), &a, &b, &late})
      EXPECT_EQ(stream(other, uses, client), stream(counts, uses, client));
}

}  // namespace
}  // namespace rill
