#include "rill/dsl/shape_error.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <string>
#include <vector>

#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/sum/sum.hpp"

namespace {

using rill::detail::sentence;

std::string text(sentence const& s) { return {s.text, s.size}; }

template <class Op, auto Attributes> constexpr sentence refused(std::initializer_list<rill::type> inputs) {
  std::span<rill::type const> const operands(inputs.begin(), inputs.size());
  auto const result = rill::detail::infer_or_refuse<Op>(Attributes, operands);
  return result.refused() ? rill::detail::sentence_of(Op::name, operands, result.why) : sentence{};
}

TEST(shape_error, names_the_operation_its_operands_and_what_clashes) {
  constexpr auto s =
      refused<rill::ops::matmul_op, rill::transposed{}>({rill::of<float, "batch", 3>, rill::of<float, 4, 2>});
  EXPECT_EQ(text(s),
            "matmul(float32[batch, 3], float32[4, 2]): the columns of the first are not the rows of the second: 3 "
            "against 4");
  constexpr auto axis = refused<rill::ops::sum_op, rill::ops::reduction{{-3}}>({rill::of<int, rill::unknown, 3>});
  EXPECT_EQ(text(axis),
            "sum(int32[?, 3]): a reduction's axis is out of range for the operand's rank: axis -3 of rank 2");
  constexpr auto last = refused<rill::ops::sum_op, rill::ops::reduction{{-1}}>({rill::of<int>});
  EXPECT_EQ(text(last), "sum(int32[]): a reduction's axis is out of range for the operand's rank: axis -1 of rank 0");
  static_assert(
      refused<rill::ops::matmul_op, rill::transposed{}>({rill::of<float, 2, 3>, rill::of<float, 3, 2>}).size == 0);
}

TEST(shape_error, is_what_the_run_time_says) {
  constexpr auto s = refused<rill::ops::matmul_op, rill::transposed{}>({rill::of<float, 2, 3>, rill::of<float, 4, 2>});
  rill::graph g;
  rill::value const a = rill::placeholder<float, 2, 3>(g, "a"), b = rill::placeholder<float, 4, 2>(g, "b");
  try {
    rill::matmul(a, b);
    FAIL();
  } catch (rill::error const& e) {
    std::string const clash = ": the columns of the first are not the rows of the second: 3 against 4";
    EXPECT_NE(e.message().find(clash), std::string::npos) << e.message();
    EXPECT_NE(text(s).find(clash), std::string::npos) << text(s);
    EXPECT_NE(e.message().find("(float32[2, 3], float32[4, 2])"), std::string::npos) << e.message();
  }
}

// Clang cuts text in a type's name behind 36 characters; g++ prints all of it.
#if defined(__clang__)
TEST(shape_error, is_cut_between_words_into_pieces_that_compilers_print) {
  sentence s;
  s << "0123456789 123456789 123456789 12345 " << "and so on " << "0123456789012345678901234567890123456789";
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < s.pieces(); ++i) pieces.emplace_back(s.piece(i));
  EXPECT_EQ(pieces, (std::vector<std::string>{"0123456789 123456789 123456789 ", "12345 and so on ",
                                              "012345678901234567890123456789012345", "6789"}));
  static_assert(std::same_as<decltype(rill::detail::named<sentence{} << "0123456789 123456789 123456789 1234567890">()),
                             rill::shape_error<rill::error_text<32, 11>(sentence{} << "0123456789 123456789 123456789 "
                                                                                   << "1234567890")>>);
}
#else
TEST(shape_error, is_one_piece_of_any_length) {
  sentence s;
  for (int i = 0; i < 200; ++i) s << "a word and ";
  EXPECT_EQ(s.pieces(), 1);
  EXPECT_EQ(s.piece(0), text(s));
  static_assert(std::same_as<decltype(rill::detail::named<sentence{} << "0123456789 123456789 123456789 1234567890">()),
                             rill::shape_error<rill::error_text<42>(sentence{} << "0123456789 123456789 123456789 "
                                                                               << "1234567890")>>);
}
#endif

TEST(shape_error, writes_every_number) {
  sentence s;
  s << INT64_MIN << " " << std::int64_t{0} << " " << INT64_MAX;
  EXPECT_EQ(text(s), "-9223372036854775808 0 9223372036854775807");
}

TEST(shape_error, ends_where_it_has_no_room) {
  sentence s;
  for (int i = 0; i < 500; ++i) s << "0123456789";
  EXPECT_EQ(s.size, sizeof(s.text));
  EXPECT_TRUE(text(s).ends_with("0123456..."));
  std::string all;
  for (std::size_t i = 0; i < s.pieces(); ++i) all += s.piece(i);
  EXPECT_EQ(all, text(s));
}

}  // namespace
