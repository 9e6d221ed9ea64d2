#include "rill/program/passes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "program/run.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/exponential.hpp"

namespace rill {
namespace {

// r3 = x * y, r4 = r3 + z, or z + r3.
program sum_of_product(bool product_first, dtype d = dtype::float32) {
  program p;
  p.inputs = {d, d, d};
  p.instructions.push_back({function<ops::mul_op>(), {0, 1}, d});
  p.instructions.push_back({function<ops::add_op>(), {}, d});
  p.instructions[1].operands = {static_cast<std::uint16_t>(product_first ? 3 : 2),
                                static_cast<std::uint16_t>(product_first ? 2 : 3)};
  p.outputs = {4};
  return p;
}

TEST(passes_of, join_two_lines_where_nobody_else_reads_the_first) {
  for (bool first : {true, false})
    for (auto d : {dtype::float32, dtype::float64}) {
      auto const passes = passes_of(sum_of_product(first, d));
      ASSERT_EQ(passes.size(), 1u);
      EXPECT_EQ(passes[0].arity, 3);
      EXPECT_EQ(passes[0].result, 4);
      EXPECT_EQ(passes[0].operands[0] + 10 * passes[0].operands[1] + 100 * passes[0].operands[2], 210);
    }
  auto fetched = sum_of_product(true), read_twice = fetched, of_itself = fetched;
  fetched.outputs = {3, 4};
  read_twice.instructions.push_back({function<ops::sub_op>(), {3, 4}, dtype::float32});
  read_twice.outputs = {5};
  of_itself.instructions[1].operands = {3, 3};
  EXPECT_EQ(passes_of(fetched).size(), 2u);
  EXPECT_EQ(passes_of(read_twice).size(), 3u);
  EXPECT_EQ(passes_of(of_itself).size(), 2u);
  EXPECT_EQ(passes_of(sum_of_product(true, dtype::int32)).size(), 2u);
  auto difference = sum_of_product(true);
  difference.instructions[1].function = function<ops::sub_op>();
  EXPECT_EQ(passes_of(difference).size(), 2u);
}

TEST(passes_of, joined_ones_are_not_joined_again) {
  program p;  // tanh(x) * y * z + exp(w): (tanh, mul), (mul, add), exp
  p.inputs.assign(4, dtype::float32);
  p.instructions.push_back({function<ops::tanh_op>(), {0}, dtype::float32});
  p.instructions.push_back({function<ops::mul_op>(), {4, 1}, dtype::float32});
  p.instructions.push_back({function<ops::mul_op>(), {5, 2}, dtype::float32});
  p.instructions.push_back({function<ops::exp_op>(), {3}, dtype::float32});
  p.instructions.push_back({function<ops::add_op>(), {7, 6}, dtype::float32});
  p.outputs = {8};
  auto const passes = passes_of(p);
  ASSERT_EQ(passes.size(), 3u);
  EXPECT_EQ(passes[0].result, 5);
  EXPECT_EQ(passes[1].result, 7);
  EXPECT_EQ(passes[2].result, 8);
}

// One line after the other, each a program of its own.
template <class T> tensor line_by_line(program const& p, std::vector<tensor> values, shape const& extents) {
  for (auto const& line : p.instructions) {
    program one;
    std::vector<tensor> operands;
    for (std::size_t k = 0; k < line.function->arity; ++k) operands.push_back(values[line.operands[k]]);
    one.inputs.assign(operands.size(), dtype_of<T>);
    one.instructions = {{line.function, {0, 1}, line.result}};
    one.outputs = {line.function->arity};
    values.push_back(run(one, operands, extents)[0]);
  }
  return values[p.outputs[0]];
}

template <class T> void have_the_bits_of_two_passes() {
  auto noise = [n = 0](std::int64_t count) mutable {
    tensor t(dtype_of<T>, {count});
    for (std::int64_t i = 0; i < count; ++i, ++n) t.mutable_data<T>()[i] = static_cast<T>(std::sin(n) * (n % 7) * 1.7);
    return t;
  };
  auto const compare = [](program const& p, std::vector<tensor> const& inputs, shape const& extents) {
    EXPECT_EQ(passes_of(p).size(), 1u);
    EXPECT_TRUE(same_bits(run(p, inputs, extents)[0], line_by_line<T>(p, inputs, extents))) << extents.text();
  };
  for (std::int64_t n : {1, 7, 16, 100, 1025, 5000}) {
    compare(sum_of_product(n % 2 == 0, dtype_of<T>), {noise(n), noise(n), noise(n)}, {n});
    compare(sum_of_product(n % 2 == 0, dtype_of<T>), {noise(n), noise(1), noise(n)}, {n});
    for (auto const* f : {function<ops::add_op>(), function<ops::sub_op>()}) {
      auto p = sum_of_product(n % 2 == 0, dtype_of<T>);
      p.instructions[0].function = f;
      p.instructions[1].function = function<ops::mul_op>();
      compare(p, {noise(n), noise(n), noise(n)}, {n});
    }
    for (auto const* f : {function<ops::tanh_op>(), function<ops::sigmoid_op>(), function<ops::exp_op>()})
      for (bool first : {true, false}) {
        program p;
        p.inputs.assign(2, dtype_of<T>);
        p.instructions.push_back({f, {0}, dtype_of<T>});
        p.instructions.push_back({function<ops::mul_op>(), {2, 1}, dtype_of<T>});
        if (!first) p.instructions[1].operands = {1, 2};
        p.outputs = {3};
        compare(p, {noise(n), noise(n)}, {n});
      }
  }
}
TEST(passes_of, have_the_bits_of_two_passes) {
  have_the_bits_of_two_passes<float>();
  have_the_bits_of_two_passes<double>();
}

}  // namespace
}  // namespace rill
