#include "rill/type/checks.hpp"

#include <gtest/gtest.h>

#include "rill/type/type.hpp"

namespace {

using rill::checks;
using rill::mismatch;

template <class F> std::string sentence(F f) {
  try {
    f();
  } catch (rill::error const& e) {
    EXPECT_EQ(e.code(), rill::code::invalid_argument);
    return e.message();
  }
  return "";
}

TEST(checks, throw_the_sentence_where_nobody_keeps_it) {
  checks const expects;
  EXPECT_EQ(sentence([&] { expects(true, "never"); }), "");
  EXPECT_EQ(sentence([&] { expects(false, "the operand is a scalar"); }), "the operand is a scalar");
}

TEST(checks, say_which_extents_clash) {
  checks const expects;
  EXPECT_EQ(sentence([&] { expects(false, "the extents differ", rill::dim(3), rill::dim("batch")); }),
            "the extents differ: 3 against batch");
  EXPECT_EQ(sentence([] { rill::agree(3, 4, "the extents differ"); }), "the extents differ: 3 against 4");
  EXPECT_EQ(sentence([] { rill::broadcast(rill::of<float, 2, 3>, rill::of<float, 4>); }),
            "the operands' extents do not broadcast: they are neither equal nor 1: 3 against 4");
}

TEST(checks, say_which_axis_is_not_there) {
  EXPECT_EQ(sentence([] { rill::checked_axis(-3, 2, "the axis lies outside"); }),
            "the axis lies outside: axis -3 of rank 2");
}

TEST(checks, keep_the_first_refusal_while_a_program_compiles) {
  constexpr auto kept = [] {
    mismatch why;
    checks const expects(why);
    expects(true, "never");
    rill::agree(1, 2, "the first", expects);
    expects(false, "the second");
    return why;
  }();
  EXPECT_STREQ(kept.why, "the first");
  EXPECT_EQ(kept.text(), "the first: 1 against 2");
  static_assert([] {
    mismatch why;
    rill::broadcast(rill::of<float, 1, 3>, rill::of<float, 4, 1>, checks(why));
    return why.why == nullptr;
  }());
}

TEST(checks, end_where_an_operand_lacks_extents) {
  static_assert(rill::of<float, 2>[1] == rill::unknown && rill::of<float>[std::size_t{0} - 1] == rill::unknown);
  constexpr auto kept = [] {
    mismatch why;
    rill::type t(rill::dtype::float32, {1, 1, 1, 1, 1, 1, 1, 1});
    t[t.rank] = 2;
    t.push_back(1, checks(why));
    rill::checked_product(INT64_MAX, 2, checks(why));
    rill::stacked(rill::row_of(rill::of<float>, checks(why)), 3, checks(why));
    return why;
  }();
  EXPECT_EQ(kept.text(), "a tensor's rank is at most 8");
}

}  // namespace
