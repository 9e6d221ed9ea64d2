#include "rill/ops/base/variants.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace {

using rill::detail::kernel_variant;
using rill::detail::variant_choice;

bool yes() { return true; }
bool no() { return false; }

int const first = 1, second = 2;
rill::kernel_entry const first_entries[] = {{"add", &first}, {}};
rill::kernel_entry const second_entries[] = {{"sub", &second}};
std::span<rill::kernel_entry const> const tables[] = {first_entries, second_entries};
kernel_variant const variants[] = {{"best", no, tables}, {"good", yes, tables}, {"plain", yes, tables}};

rill::code code_of(auto const& f) {
  try {
    f();
  } catch (rill::error const& e) {
    return e.code();
  }
  return rill::code::internal;
}

TEST(variants, the_first_that_this_processor_runs_is_taken) { EXPECT_EQ(variant_choice(variants).get().name, "good"); }

TEST(variants, kernels_are_found_in_every_table) {
  variant_choice choice(variants);
  EXPECT_EQ(choice.kernels("add"), &first);
  EXPECT_EQ(choice.kernels("sub"), &second);
  EXPECT_EQ(code_of([&] { choice.kernels("mul"); }), rill::code::unimplemented);
}

TEST(variants, a_lower_one_can_be_asked_for_before_the_first_use) {
  variant_choice choice(variants);
  choice.use("plain");
  choice.use("plain");
  EXPECT_EQ(choice.get().name, "plain");
  EXPECT_EQ(code_of([&] { choice.use("good"); }), rill::code::failed_precondition);
}

TEST(variants, one_that_is_not_there_or_does_not_run_here_is_refused) {
  variant_choice choice(variants);
  EXPECT_EQ(code_of([&] { choice.use("best"); }), rill::code::unimplemented);
  EXPECT_EQ(code_of([&] { choice.use("other"); }), rill::code::invalid_argument);
  EXPECT_EQ(choice.get().name, "good");
}

TEST(variants, a_processor_that_runs_none_is_an_error) {
  variant_choice choice(std::span<kernel_variant const>(variants, 1));
  EXPECT_EQ(code_of([&] { choice.get(); }), rill::code::unimplemented);
}

TEST(variants, threads_that_ask_at_once_are_given_the_same_one) {
  variant_choice choice(variants);
  std::vector<kernel_variant const*> got(8);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : got) threads.emplace_back([&] { mine = &choice.get(); });
  }
  for (auto const* one : got) EXPECT_EQ(one, got[0]);
}

}  // namespace
