#include "rill/pass/passes.hpp"

#include <gtest/gtest.h>

#include "parts.hpp"
#include "rill/ops/operations.hpp"

namespace {

using namespace rill;

TEST(passes, are_switched_off_one_by_one) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const y = exp(x) + exp(x) * 1.f;
  container state;
  auto part = part_of(g, {y}, {}, {x});
  auto const before = part.size();
  rewrite(part, pass_options::none(), state, nullptr);
  EXPECT_EQ(part.size(), before);
  pass_options only;
  only.fuse = false;
  only.identities = false;
  only.verify = true;
  rewrite(part, only, state, nullptr);
  EXPECT_EQ(count(part, "exp"), 1u);
  EXPECT_EQ(count(part, "mul"), 1u);
}

TEST(passes, tell_what_they_did) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  container state;
  auto part = part_of(g, {exp(x) * 1.f + exp(x)}, {}, {x});
  pass_report report;
  rewrite(part, {.verify = true}, state, &report);
  EXPECT_NE(report.text().find("identities: x * 1: mul"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("common subexpressions: already computed: exp"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("fuse: joined"), std::string::npos) << report.text();
}

}  // namespace
