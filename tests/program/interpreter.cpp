#include "rill/program/interpreter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "program/run.hpp"
#include "rill/base/pool.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {
namespace {

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

TEST(interpreter, computes_with_more_registers_than_its_stack_has_room_for) {
  program p;
  p.inputs = {dtype::float64};
  for (std::uint16_t i = 0; i < 200; ++i) p.instructions.push_back({function<ops::square_op>(), {i}, dtype::float64});
  std::uint16_t last = 1;
  for (std::uint16_t i = 2; i <= 200; ++i) {
    p.instructions.push_back({function<ops::add_op>(), {last, i}, dtype::float64});
    last = static_cast<std::uint16_t>(p.registers() - 1);
  }
  p.outputs = {last};
  auto const y = run(p, {vector<double>({1, 0.5, 1, 1})}, {4})[0];
  double wanted = 0;
  for (int i = 1; i <= 200; ++i) wanted += std::pow(0.5, std::pow(2., i));
  EXPECT_EQ(y.data<double>()[0], 200);
  EXPECT_EQ(y.data<double>()[1], wanted);
}

TEST(interpreter, may_write_a_result_over_an_input_that_is_read_no_more) {
  auto const p = binary(function<ops::sub_op>());
  bound_program const bound(p, {{2, 3}, {3}}, {2, 3});
  EXPECT_TRUE(bound.input_output_aliases(0, 0));
  EXPECT_FALSE(bound.input_output_aliases(1, 0));  // it is read again for every row
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
  EXPECT_FALSE(bound.input_output_aliases(0, 0));
  EXPECT_TRUE(bound.input_output_aliases(0, 1));
}

TEST(interpreter, does_not_write_over_an_input_of_another_size) {
  program p;
  p.inputs = {dtype::float32, dtype::float32};
  p.instructions.push_back({function<ops::less_op>(), {0, 1}, dtype::boolean});
  p.outputs = {2};
  EXPECT_FALSE(bound_program(p, {{4}, {4}}, {4}).input_output_aliases(0, 0));
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
