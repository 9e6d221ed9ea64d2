#include "rill/run/step_counts.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rill {
namespace {

std::uint64_t next_stream(step_counts& counts, step_uses const& uses, std::string const* client = nullptr) {
  step_context step;
  step.client = client;
  counts.number(step, uses);
  EXPECT_EQ(step.client, nullptr);
  return step.stream;
}

constexpr step_uses drawing{.draws = true}, drawing_to_train{.draws = true, .trains = true};

TEST(step_counts, number_all_steps_and_count_those_that_draw) {
  step_counts counts;
  for (std::uint64_t n = 0; n < 5; ++n) {
    step_context step;
    counts.number(step, n % 2 ? drawing : step_uses{});
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
    for (auto const& uses : {drawing, drawing_to_train})
      for (auto const* client : {static_cast<std::string const*>(nullptr), &a, &b})
        all.insert(next_stream(counts, uses, client));
  EXPECT_EQ(all.size(), 60u);
}

TEST(step_counts, of_one_client_are_not_shifted_by_others) {
  std::string const a = "a", b = "b";
  step_counts alone, among;
  for (int i = 0; i < 5; ++i) {
    auto const wanted = next_stream(alone, drawing, &a), trained = next_stream(alone, drawing_to_train);
    for (int k = 0; k < i; ++k)
      next_stream(among, drawing), next_stream(among, drawing, &b), next_stream(among, drawing_to_train, &a);
    EXPECT_EQ(next_stream(among, drawing, &a), wanted);
    EXPECT_EQ(next_stream(among, drawing_to_train), trained);
  }
}

TEST(step_counts, leave_out_steps_that_give_first_values) {
  step_counts counts;
  EXPECT_EQ(next_stream(counts, {.first_values = true, .draws = true, .trains = true}), first_values_stream);
  EXPECT_EQ(counts.draws().training.at(""), 0u);
}

TEST(step_counts, are_set_for_clients_that_come_later_too) {
  std::string const a = "a", b = "b";
  step_counts counts, other;
  for (int i = 0; i < 7; ++i) next_stream(other, drawing, &a), next_stream(other, drawing, &b);
  next_stream(counts, drawing, &a);
  counts.set(7);
  EXPECT_EQ(counts.begun(), 7u);
  EXPECT_EQ(next_stream(counts, drawing, &a), next_stream(other, drawing, &a));
  EXPECT_EQ(next_stream(counts, drawing, &b), next_stream(other, drawing, &b));
  EXPECT_EQ(next_stream(counts, drawing), 7u);
}

TEST(step_counts, go_on_in_another_session) {
  std::string const a = "a", b = "b", late = "late";
  step_counts counts, other;
  counts.set(3);
  for (int i = 0; i < 4; ++i) next_stream(counts, drawing), next_stream(counts, drawing_to_train, &a);
  next_stream(counts, drawing, &b);
  other.set(counts.draws());
  EXPECT_EQ(other.draws(), counts.draws());
  for (auto const& uses : {drawing, drawing_to_train})
    for (auto const* client : {static_cast<std::string const*>(nullptr), &a, &b, &late})
      EXPECT_EQ(next_stream(other, uses, client), next_stream(counts, uses, client));
}

}  // namespace
}  // namespace rill
