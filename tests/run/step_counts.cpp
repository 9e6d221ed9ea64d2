#include "rill/run/step_counts.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

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

TEST(step_counts, refuse_what_checkpoints_can_not_contain) {
  constexpr auto most = static_cast<std::uint64_t>(INT64_MAX);
  auto const sentence = [](auto const& of) -> std::string {
    step_counts counts;
    counts.set(draw_counts{{{"", 1}}, {{"a", 2}}, 3});
    auto const before = counts.draws();
    try {
      counts.set(of);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::invalid_argument);
      EXPECT_EQ(counts.draws(), before);
      EXPECT_EQ(counts.begun(), 0u);
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(sentence(most), "");
  EXPECT_EQ(sentence(draw_counts{{{"a", most}}, {{"", most}}, most}), "");
  std::string const refused = "expected a number of steps from 0 to 2^63 - 1, got 9223372036854775808";
  EXPECT_NE(sentence(most + 1).find(refused), std::string::npos);
  EXPECT_NE(sentence(draw_counts{{}, {}, most + 1}).find(refused), std::string::npos);
  EXPECT_NE(sentence(draw_counts{{{"", most + 1}}, {}, 0}).find(refused), std::string::npos);
  EXPECT_NE(sentence(draw_counts{{}, {{"a", most + 1}}, 0}).find(refused + " for the client 'a'"), std::string::npos);
  EXPECT_NE(sentence(draw_counts{{{"\xff", 1}}, {}, 0}).find("expected the name of a client in UTF-8, got '\\xff'"),
            std::string::npos);
}

}  // namespace
}  // namespace rill
