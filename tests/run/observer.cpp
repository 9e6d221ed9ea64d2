#include "rill/run/observer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "rill/ops/operations.hpp"
#include "rill/run/session.hpp"

namespace {

using namespace rill;

struct recorder : observer {
  std::vector<std::string> seen;
  int begun = 0, ended = 0;
  void step_begins(std::uint64_t) override { ++begun; }
  void node_ran(node_record const& r) override {
    EXPECT_LE(r.begin, r.end);
    seen.push_back(std::string(r.operation));
  }
  void step_ended(std::uint64_t) override { ++ended; }
};

TEST(observer, is_told_of_each_node_of_the_steps_that_name_it) {
  graph g;
  auto const x = placeholder<float, 2, 2>(g, "x");
  auto const y = matmul(exp(x), x);
  session s{g};
  recorder r;
  auto const in = tensor(matrix<float>({{1, 2}, {3, 4}}));
  s.run({{x, in}}, y, observe(r));
  EXPECT_EQ(r.seen, (std::vector<std::string>{"exp", "matmul"}));
  s.run({{x, in}}, y);
  EXPECT_EQ(r.begun, 1);
  EXPECT_EQ(r.ended, 1);
}

TEST(observer, is_told_of_the_end_of_a_step_that_fails) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const y = check_numerics(x, "x");
  session s{g};
  recorder r;
  EXPECT_THROW(s.run({{x, tensor(std::nanf(""))}}, y, observe(r)), error);
  EXPECT_EQ(r.begun, 1);
  EXPECT_EQ(r.ended, 1);
}

TEST(cancellation, ends_a_step_and_leaves_the_session_usable) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = exp(x);
  session s{g};
  cancellation stop;
  stop.cancel();
  try {
    s.run({{x, tensor(1.f)}}, y, stop);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::cancelled);
  }
  try {
    s.run({{x, tensor(1.f)}}, y, timeout{std::chrono::nanoseconds(-1)});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::deadline_exceeded);
  }
  EXPECT_FLOAT_EQ(float(s.run({{x, tensor(1.f)}}, y)), std::exp(1.f));
}

}  // namespace
