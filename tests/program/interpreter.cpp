#include "rill/program/interpreter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "rill/base/pool.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {
namespace {

template <class Op> scalar_function const* function() { return definition<Op>().elementwise; }

program binary(scalar_function const* f, dtype d = dtype::float32) {
  program p;
  p.inputs = {d, d};
  p.instructions.push_back({f, {0, 1}, d});
  p.outputs = {2};
  return p;
}

tensor counting(shape const& s) {
  tensor t(dtype::float32, s);
  std::iota(t.mutable_data<float>(), t.mutable_data<float>() + t.elements(), 1.f);
  return t;
}

std::vector<tensor> run(program const& p, std::vector<tensor> inputs, shape const& output,
                        parallel const& threads = {}) {
  std::vector<shape> shapes;
  std::vector<void*> pointers;
  for (auto& t : inputs) shapes.push_back(t.shape()), pointers.push_back(t.mutable_raw());
  std::vector<tensor> outputs;
  for (auto o : p.outputs) pointers.push_back(outputs.emplace_back(p.element(o), output).mutable_raw());
  bound_program(p, shapes, output)(pointers.data(), threads);
  return outputs;
}

// The element of `t` that the output's element at `index` is made from.
float broadcast_at(tensor const& t, std::vector<std::int64_t> const& index) {
  std::int64_t offset = 0;
  auto const missing = index.size() - t.rank();
  for (std::size_t i = 0; i < t.rank(); ++i)
    offset = offset * t.shape()[i] + (t.shape()[i] == 1 ? 0 : index[missing + i]);
  return t.data<float>()[offset];
}

void expect_difference(shape const& a, shape const& b) {
  auto const x = counting(a), y = counting(b);
  auto const extents = broadcast(type(dtype::float32, a), type(dtype::float32, b)).shape();
  auto const z = run(binary(function<ops::sub_op>()), {x, y}, extents)[0];
  std::vector<std::int64_t> index(extents.rank());
  for (std::int64_t i = 0; i < z.elements(); ++i) {
    auto rest = i;
    for (std::size_t axis = extents.rank(); axis-- > 0;) index[axis] = rest % extents[axis], rest /= extents[axis];
    ASSERT_EQ(z.data<float>()[i], broadcast_at(x, index) - broadcast_at(y, index)) << a.text() << b.text() << i;
  }
}

TEST(interpreter, broadcasts_every_way_as_plain_loops_do) {
  shape const shapes[] = {{},           {1},          {3},          {1, 3},       {2, 3},
                          {2, 1},       {4, 2, 3},    {4, 1, 3},    {4, 2, 1},    {1, 2, 1},
                          {1, 1, 1, 3}, {5, 4, 2, 3}, {5, 1, 2, 1}, {1, 4, 1, 3}, {5, 1, 1, 1}};
  for (auto const& a : shapes)
    for (auto const& b : shapes) expect_difference(a, b);
}

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

TEST(interpreter, broadcasts_across_the_ends_of_tiles) {
  expect_difference({1025}, {});
  expect_difference({3, 1025}, {1025});
  expect_difference({1025, 3}, {1025, 1});
  expect_difference({700, 1, 3}, {1, 5, 1});
  expect_difference({7, 1024}, {7, 1});
  expect_difference({1, 1, 1, 1, 1, 1, 1, 2}, {3, 1, 2, 1, 3, 1, 2, 1});
}

TEST(interpreter, does_nothing_with_no_elements) {
  expect_difference({0}, {});
  expect_difference({0, 3}, {1, 3});
  expect_difference({2, 0, 3}, {2, 1, 3});
}

TEST(interpreter, gives_the_same_bits_on_any_number_of_threads) {
  pool many(4);
  auto const x = counting({300, 1000}), y = counting({1000});
  auto const p = binary(function<ops::div_op>());
  EXPECT_TRUE(same_bits(run(p, {x, y}, {300, 1000})[0], run(p, {x, y}, {300, 1000}, many.parallel())[0]));
}

TEST(interpreter, writes_several_outputs_some_of_them_inputs_immediates_or_twins) {
  program p;  // r0 + 2, its square, r0, 2, and the square again
  p.inputs = {dtype::float32};
  p.immediates = {immediate::of(2.f)};
  p.instructions.push_back({function<ops::add_op>(), {0, 1}, dtype::float32});
  p.instructions.push_back({function<ops::square_op>(), {2}, dtype::float32});
  p.outputs = {2, 3, 0, 1, 3};
  for (shape const& s : {shape{}, shape{3}, shape{3000}, shape{40000}}) {
    auto const x = counting(s);
    auto const out = run(p, {x}, s);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      float const v = x.data<float>()[i];
      ASSERT_EQ(out[0].data<float>()[i], v + 2);
      ASSERT_EQ(out[1].data<float>()[i], (v + 2) * (v + 2));
      ASSERT_EQ(out[2].data<float>()[i], v);
      ASSERT_EQ(out[3].data<float>()[i], 2);
      ASSERT_EQ(out[4].data<float>()[i], out[1].data<float>()[i]);
    }
  }
}

TEST(interpreter, mixes_element_types_of_different_sizes) {
  program p;  // r0 < r1 ? r0 : r1, in double
  p.inputs = {dtype::float64, dtype::float64};
  p.instructions.push_back({function<ops::less_op>(), {0, 1}, dtype::boolean});
  p.instructions.push_back({function<ops::select_op>(), {2, 0, 1}, dtype::float64});
  p.outputs = {3, 2};
  auto const out = run(p, {vector<double>({1, 5, 3}), tensor(3.0)}, {3});
  EXPECT_TRUE(same_bits(out[0], vector<double>({1, 3, 3})));
  EXPECT_TRUE(same_bits(out[1], vector<bool>({true, false, false})));
}

TEST(interpreter, reuses_registers_over_a_long_chain) {
  program p;
  p.inputs = {dtype::float32};
  std::uint16_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    p.instructions.push_back({function<ops::add_op>(), {last, 0}, dtype::float32});
    last = static_cast<std::uint16_t>(p.registers() - 1);
  }
  p.outputs = {last};
  auto const y = run(p, {vector<float>({1, 2, -1})}, {3})[0];
  EXPECT_TRUE(same_bits(y, vector<float>({1001, 2002, -1001})));
}

TEST(interpreter, refuses_more_registers_at_once_than_a_tile_has_room_for) {
  program p;
  p.inputs = {dtype::float64};
  for (std::uint16_t i = 0; i < 200; ++i) p.instructions.push_back({function<ops::square_op>(), {i}, dtype::float64});
  std::uint16_t last = 1;
  for (std::uint16_t i = 2; i <= 200; ++i) {
    p.instructions.push_back({function<ops::add_op>(), {last, i}, dtype::float64});
    last = static_cast<std::uint16_t>(p.registers() - 1);
  }
  p.outputs = {last};
  EXPECT_THROW(bound_program(p, {shape{4}}, shape{4}), error);
}

TEST(interpreter, may_write_a_result_over_an_input_that_is_read_no_more) {
  auto const p = binary(function<ops::sub_op>());
  bound_program const bound(p, {{2, 3}, {3}}, {2, 3});
  EXPECT_TRUE(bound.may_share(0, 0));
  EXPECT_FALSE(bound.may_share(1, 0));  // it is read again for every row
  tensor x = counting({2, 3}), y = counting({3});
  void* pointers[] = {x.mutable_raw(), y.mutable_raw(), x.mutable_raw()};
  bound(pointers, {});
  EXPECT_TRUE(same_bits(x, matrix<float>({{0, 0, 0}, {3, 3, 3}})));
}

TEST(interpreter, does_not_write_over_an_input_that_is_read_later) {
  program p;  // a = -r0, b = a + r0
  p.inputs = {dtype::float32};
  p.instructions.push_back({function<ops::neg_op>(), {0}, dtype::float32});
  p.instructions.push_back({function<ops::add_op>(), {1, 0}, dtype::float32});
  p.outputs = {1, 2};
  bound_program const bound(p, {{4}}, {4});
  EXPECT_FALSE(bound.may_share(0, 0));
  EXPECT_TRUE(bound.may_share(0, 1));
}

TEST(interpreter, does_not_write_over_an_input_of_another_size) {
  program p;
  p.inputs = {dtype::float32, dtype::float32};
  p.instructions.push_back({function<ops::less_op>(), {0, 1}, dtype::boolean});
  p.outputs = {2};
  EXPECT_FALSE(bound_program(p, {{4}, {4}}, {4}).may_share(0, 0));
}

TEST(interpreter, gives_a_short_lone_line_as_its_tile_function) {
  auto const p = binary(function<ops::add_op>());
  EXPECT_NE(bound_program(p, {{4}, {4}}, {4}).single_tile(), nullptr);
  EXPECT_EQ(bound_program(p, {{4}, {}}, {4}).single_tile(), nullptr);
  EXPECT_EQ(bound_program(p, {{1 << 20}, {1 << 20}}, {1 << 20}).single_tile(), nullptr);
  auto swapped = p;
  swapped.instructions[0].operands = {1, 0};
  EXPECT_EQ(bound_program(swapped, {{4}, {4}}, {4}).single_tile(), nullptr);
}

}  // namespace
}  // namespace rill
