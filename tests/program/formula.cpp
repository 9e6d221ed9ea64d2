#include "rill/program/formula.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string_view>

#include "rill/ops/list/operations.hpp"
#include "run.hpp"

namespace rill {
namespace {

std::string text_of(scalar_function const* f) {
  std::array<std::string_view, max_operands> const names{"a", "b", "c", "d", "e", "f"};
  return f->formula(names.data());
}
template <class Op> std::string text_of() { return text_of(function<Op>()); }
template <class N> std::string constant_text(N n) { return formula(n).text(); }

TEST(formula, is_what_apply_computes) {
  EXPECT_EQ(text_of<ops::add_op>(), "(a + b)");
  EXPECT_EQ(text_of<ops::div_op>(), "(a / b)");
  EXPECT_EQ(text_of<ops::neg_op>(), "(-a)");
  EXPECT_EQ(text_of<ops::square_op>(), "(a * a)");
  EXPECT_EQ(text_of<ops::silu_op>(), "silu(a)");
  EXPECT_EQ(text_of<ops::pow_op>(), "pow(a, b)");
  EXPECT_EQ(text_of<ops::relu_op>(), "maximum(a, L(0))");
  EXPECT_EQ(text_of<ops::relu_gradient_op>(), "select((a > L(0)), b, L(0))");
  EXPECT_EQ(text_of<ops::less_equal_op>(), "(a <= b)");
  EXPECT_EQ(text_of<ops::logical_not_op>(), "(!a)");
  EXPECT_EQ(text_of<ops::is_finite_op>(), "is_finite(a)");
  EXPECT_EQ(text_of<ops::bit_not_op>(), "(~a)");
  EXPECT_EQ(text_of<ops::shift_left_op>(), "shift_left(a, b)");
  EXPECT_EQ(text_of<ops::select_op>(), "select(a, b, c)");
  EXPECT_EQ(text_of<ops::absolute_error_op>(), "abs((a - b))");
  EXPECT_EQ(text_of<ops::cast_op>(), "converted<R>(a)");
}

TEST(formula, of_several_operations_is_wide_and_names_what_it_uses_twice) {
  EXPECT_EQ(text_of<ops::huber_op>(),
            "[&] { auto const part0 = abs((widened(a) - widened(b))); auto const part1 = minimum(part0, widened(c)); "
            "return rounded<L>((part1 * (part0 - (W(0x1p-1) * part1)))); }()");
  EXPECT_EQ(leaky_relu(formula("x")).text(),
            "[&] { auto const part0 = widened(x); return rounded<L>(select((part0 > W(0)), part0, (part0 * "
            "W(0x1.47ae147ae147bp-7)))); }()");
}

TEST(formula, is_taken_by_compositions_of_functions_of_numbers) {
  formula const x("x");
  EXPECT_EQ(reciprocal(x).text(), "(L(1) / x)");
  EXPECT_EQ(rsqrt(x).text(), "rounded<L>((W(1) / sqrt(widened(x))))");
  EXPECT_EQ(clamp(x, -1, 0.5).text(), "minimum(maximum(x, L(-1)), L(0x1p-1))");
  EXPECT_EQ(relu6(x).text(), "select((x >= L(6)), L(6), maximum(x, L(0)))");
  EXPECT_EQ(prelu(x, formula("s")).text(), "select((x > L(0)), x, (s * select((x > L(0)), L(0), x)))");
  EXPECT_EQ(log_sigmoid(x).text(), "(-softplus((-x)))");
  for (auto const& y : {elu(x), selu(x), celu(x), hardtanh(x), hardsigmoid(x), hardswish(x), softsign(x), neg(x)})
    EXPECT_NE(y.text().find('x'), std::string::npos);
}

TEST(formula, does_not_double_with_each_step_of_an_iteration) {
  formula y("x");
  for (int i = 0; i < 40; ++i) y = y * (2 - y);
  EXPECT_LT(y.text().size(), 4000);
}

TEST(formula, has_the_operators_of_lanes) {
  formula const a("a"), b("b");
  formula sum = a;
  sum += 1;
  EXPECT_EQ(sum.text(), "(a + L(1))");
  sum -= b, sum *= b, sum /= b;
  EXPECT_EQ(sum.text(), "((((a + L(1)) - b) * b) / b)");
  EXPECT_EQ((((a & b) | ~a) ^ !b).text(), "(((a & b) | (~a)) ^ (!b))");
  EXPECT_EQ(((a << 3) >> b).text(), "((a << 3) >> b)");
  EXPECT_EQ(((a == b) != (a < b)).text(), "((a == b) != (a < b))");
  EXPECT_EQ((1 - a).text(), "(L(1) - a)");
  EXPECT_EQ(select(a >= 0, 1, 0.5f).text(), "select((a >= L(0)), L(1), L(0x1p-1))");
  EXPECT_EQ(relu(square(a)).text(), "maximum((a * a), L(0))");
}

TEST(formula, has_exact_constants) {
  EXPECT_EQ(constant_text(0.), "L(0x0p+0)");
  EXPECT_EQ(constant_text(-0.), "L(-0x0p+0)");
  EXPECT_EQ(constant_text(0.1f), "L(0x1.99999ap-4)");
  EXPECT_EQ(constant_text(-0.1), "L(-0x1.999999999999ap-4)");
  EXPECT_EQ(constant_text(std::numeric_limits<double>::max()), "L(0x1.fffffffffffffp+1023)");
  EXPECT_EQ(constant_text(-7), "L(-7)");
  EXPECT_EQ(constant_text(true), "L(1)");
  EXPECT_EQ(constant_text(std::uint8_t{200}), "L(200)");
  EXPECT_EQ(constant_text(std::numeric_limits<std::int64_t>::min()), "L(-9223372036854775807 - 1)");
  EXPECT_EQ(constant_text(std::numeric_limits<std::int64_t>::max()), "L(9223372036854775807)");
  EXPECT_EQ(constant_text(std::numeric_limits<std::uint64_t>::max()), "L(18446744073709551615u)");
  EXPECT_EQ(constant_text(-std::numeric_limits<float>::infinity()), "(L(-1) / L(0))");
  EXPECT_EQ(constant_text(std::numeric_limits<double>::quiet_NaN()), "(L(0) / L(0))");
}

// A lone function of operands of any types: whether one of the types that it takes or makes is real.
template <class Op> bool of_real_numbers() {
  dtype operands[max_operands];
  for (auto& d : operands) d = dtype::float32;
  auto const& f = *definition<Op>().elementwise;
  return !dtypes::complexes.includes(Op::elements) && !is_complex(f.result(operands, dtype::float32));
}

TEST(formula, of_each_operation_on_real_numbers_names_each_operand) {
  std::size_t with = 0;
  operations::for_each([&]<class Op>() {
    auto const* f = definition<Op>().elementwise;
    if (f == nullptr) return;
    if constexpr (requires { Op::elements; }) {
      ASSERT_EQ(f->formula != nullptr, of_real_numbers<Op>()) << Op::name;
      if (f->formula == nullptr) return;
      ++with;
      std::array<std::string_view, max_operands> const names{"$0", "$1", "$2", "$3", "$4", "$5"};
      auto const text = f->formula(names.data());
      for (std::size_t i = 0; i < max_operands; ++i)
        EXPECT_EQ(text.find(names[i]) != std::string::npos, i < f->arity) << Op::name << ": " << text;
    } else ADD_FAILURE() << Op::name << " has no element types";
  });
  EXPECT_GT(with, 60u);
}

}  // namespace
}  // namespace rill
