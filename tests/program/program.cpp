#include "rill/program/program.hpp"

#include <gtest/gtest.h>

#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/select.hpp"

namespace rill {
namespace {

scalar_function const& function(op_def const& op) { return *op.elementwise; }

/// (r0 + 2.5) * r1
program sample() {
  program p;
  p.inputs = {dtype::float32, dtype::float32};
  p.immediates = {immediate::of(2.5f)};
  p.instructions.push_back({&function(definition<ops::add_op>()), {0, 2}, dtype::float32});
  p.instructions.push_back({&function(definition<ops::mul_op>()), {3, 1}, dtype::float32});
  p.outputs = {4};
  return p;
}

void refused(program const& p) {
  try {
    verify(p);
    FAIL() << text(p);
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::invalid_argument);
  }
}

TEST(program, numbers_inputs_then_immediates_then_results) {
  auto const p = sample();
  EXPECT_NO_THROW(verify(p));
  EXPECT_EQ(p.registers(), 5);
  EXPECT_EQ(p.first_result(), 3);
  EXPECT_EQ(p.element(2), dtype::float32);
  EXPECT_EQ(text(p), "r3:float32 = add(r0, r2)\nr4:float32 = mul(r3, r1)\n");
}

TEST(program, carries_immediates_by_their_bits) {
  EXPECT_EQ(immediate::of(1.f), immediate::of(1.f));
  EXPECT_NE(immediate::of(0.f), immediate::of(-0.f));
  EXPECT_NE(immediate::of(1.f), immediate::of(1.0));
  EXPECT_NE(sample(), program());
}

TEST(program, is_refused_when_a_register_is_read_before_it_is_written) {
  auto p = sample();
  p.instructions[0].operands[1] = 3;
  refused(p);
  p.instructions[0].operands[1] = 99;
  refused(p);
}

TEST(program, is_refused_without_outputs_or_with_one_that_is_no_register) {
  auto p = sample();
  p.outputs = {5};
  refused(p);
  p.outputs = {};
  refused(p);
}

TEST(program, is_refused_without_functions) {
  auto p = sample();
  p.instructions[0].function = nullptr;
  refused(p);
}

TEST(program, is_refused_when_element_types_do_not_fit) {
  auto p = sample();
  p.inputs[1] = dtype::float64;
  refused(p);
  p = sample();
  p.instructions[1].result = dtype::int32;
  refused(p);
  p.inputs = {dtype::int8, dtype::float32, dtype::float32};
  p.immediates = {};
  p.instructions = {{&function(definition<ops::select_op>()), {0, 1, 2}, dtype::float32}};
  p.outputs = {3};
  refused(p);
  p.inputs[0] = dtype::boolean;
  EXPECT_NO_THROW(verify(p));
}

TEST(program, does_not_compute_with_strings) {
  program p;
  p.inputs = {dtype::string};
  p.outputs = {0};
  refused(p);
}

TEST(program, is_refused_with_more_registers_than_can_be_numbered) {
  program p;
  p.inputs.assign(70000, dtype::float32);
  p.outputs = {0};
  refused(p);
}

}  // namespace
}  // namespace rill
