// Nodes as the pass makes them, and as nobody but a codec could bring them.
#include "rill/ops/state/fused_update.hpp"

#include "../run.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/ops/list/registry.hpp"

namespace rill {
namespace {

using line = program::instruction;

scalar_function const* plus() { return definition<ops::add_op>().elementwise; }
scalar_function const* minus() { return definition<ops::sub_op>().elementwise; }
scalar_function const* squared() { return definition<ops::square_op>().elementwise; }

program of_floats(std::size_t inputs, std::vector<line> lines, std::vector<std::uint16_t> outputs) {
  program p;
  p.inputs.assign(inputs, dtype::float32);
  p.instructions = std::move(lines);
  p.outputs = std::move(outputs);
  return p;
}
line make(scalar_function const* f, std::uint16_t a, std::uint16_t b = 0) { return {f, {a, b}, dtype::float32}; }

// Variables a and b of [2, 3], c of [3], and placeholders x [2, 3] and row [3]; a node of them.
struct bench {
  graph g;
  tensor first = test::counting(dtype::float32, {2, 3});
  variable_value a, b, c;
  value x, row;
  operation start;

  bench()
      : a(variable(constant(g, first), "a")),
        b(variable(constant(g, first), "b")),
        c(variable(constant(g, test::counting(dtype::float32, {3})), "c")),
        x(placeholder(g, type(dtype::float32, {2, 3}), "x")),
        row(placeholder(g, type(dtype::float32, {3}), "row")),
        start(initializer(g)) {}

  // Loads the graph with the node from bytes, and runs the node: the values of a and b afterwards, or an error, after
  // which they are as they were.
  std::vector<tensor> run(std::vector<value> const& inputs, std::int64_t references, program p, int threads = 1) {
    record_erased<ops::fused_update_op>(g, {std::make_shared<program const>(std::move(p)), references}, inputs,
                                        "update");
    auto const again = graph_from_bytes(to_bytes(g), all_operations());
    session s(*again, {.threads = threads});
    s.run(operation(again->find("initializer")));
    std::vector<feed> const feeds{{"x", first}, {"row", test::counting(dtype::float32, {3})}};
    try {
      s.run(feeds, operation(again->find("update")));
    } catch (error const&) {
      EXPECT_TRUE(same_bits(s.run("a"), first));
      EXPECT_TRUE(same_bits(s.run("b"), first));
      throw;
    }
    return {s.run("a"), s.run("b")};
  }
};

void expect_refused(std::string_view words, std::function<void(bench&)> const& f, code c = code::invalid_argument) {
  bench here;
  test::expect_error(c, words, [&] { f(here); });
}

TEST(fused_update, sets_several_variables_and_broadcasts_the_rest) {
  for (int threads : {1, 2}) {
    bench here;
    // a += row; b -= x * x
    auto const p = of_floats(4, {make(plus(), 0, 2), make(squared(), 3), make(minus(), 1, 5)}, {4, 6});
    auto const got = here.run({here.a, here.b, here.row, here.x}, 2, p, threads);
    EXPECT_EQ(test::to_doubles(got[0]), (std::vector<double>{2, 4, 6, 5, 7, 9}));
    EXPECT_EQ(test::to_doubles(got[1]), (std::vector<double>{0, -2, -6, -12, -20, -30}));
  }
}

TEST(fused_update, refuses_a_number_of_variables_that_the_inputs_and_results_do_not_have) {
  for (std::int64_t references : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4},
                                  INT64_MIN, INT64_MAX, std::int64_t{1} << 32, (std::int64_t{1} << 32) + 1})
    expect_refused("does not fit the inputs", [&](bench& here) {
      here.run({here.a, here.b, here.x}, references, of_floats(3, {make(plus(), 0, 1)}, {3}));
    });
  expect_refused("does not fit the inputs",
                 [](bench& here) { here.run({here.a, here.x}, 1, of_floats(3, {make(plus(), 0, 1)}, {3})); });
}

TEST(fused_update, refuses_a_program_that_is_missing_or_none) {
  expect_refused("missing", [](bench& here) { record_erased<ops::fused_update_op>(here.g, {{}, 1}, {here.a}); });
  expect_refused("not written before",
                 [](bench& here) { here.run({here.a}, 1, of_floats(1, {make(plus(), 0, 1)}, {1})); });
  expect_refused("not one of its registers",
                 [](bench& here) { here.run({here.a}, 1, of_floats(1, {make(plus(), 0, 0)}, {9})); });
}

TEST(fused_update, refuses_what_is_no_variable) {
  auto const p = of_floats(2, {make(plus(), 0, 1)}, {2});
  for (auto pick : {+[](bench& here) { return here.x; }, +[](bench& here) { return constant(here.g, here.first); },
                    +[](bench& here) { return here.x + here.x; }, +[](bench& here) { return read(here.a); }})
    expect_refused("", [&](bench& here) { here.run({pick(here), here.x}, 1, p); });
}

TEST(fused_update, refuses_a_variable_that_comes_twice) {
  expect_refused(
      "two updates of variable 'a'",
      [](bench& here) {
        here.run({here.a, here.a}, 2, of_floats(2, {make(squared(), 0), make(squared(), 1)}, {2, 3}));
      },
      code::failed_precondition);
}

TEST(fused_update, reads_a_variable_by_value_as_the_step_found_it) {
  bench here;
  auto const got = here.run({here.a, here.a}, 1, of_floats(2, {make(plus(), 0, 1)}, {2}));
  EXPECT_EQ(test::to_doubles(got[0]), (std::vector<double>{2, 4, 6, 8, 10, 12}));
}

TEST(fused_update, refuses_to_read_a_variable_after_it_is_written) {
  expect_refused("read after it is written", [](bench& here) {
    here.run({here.a, here.b}, 2, of_floats(2, {make(squared(), 0), make(plus(), 0, 1)}, {2, 3}));
  });
}

TEST(fused_update, refuses_results_that_are_not_computed_or_come_twice) {
  expect_refused("read after it is written", [](bench& here) { here.run({here.a, here.x}, 1, of_floats(2, {}, {1})); });
  expect_refused("read after it is written", [](bench& here) { here.run({here.a}, 1, of_floats(1, {}, {0})); });
  expect_refused("read after it is written",
                 [](bench& here) { here.run({here.a, here.b}, 2, of_floats(2, {make(plus(), 0, 1)}, {2, 2})); });
  auto p = of_floats(1, {}, {1});
  p.immediates = {immediate::of(1.f)};
  expect_refused("read after it is written", [&](bench& here) { here.run({here.a}, 1, p); });
}

TEST(fused_update, refuses_other_extents_and_element_types) {
  auto const sum_of_two = of_floats(2, {make(plus(), 0, 1)}, {2});
  expect_refused("extents", [&](bench& here) { here.run({here.c, here.x}, 1, sum_of_two); });
  expect_refused("variable's type", [&](bench& here) {
    here.run({here.a, here.c}, 2, of_floats(2, {make(squared(), 0), make(squared(), 1)}, {2, 3}));
  });
  auto p = sum_of_two;
  p.inputs = {dtype::float64, dtype::float64};
  p.instructions[0].result = dtype::float64;
  expect_refused("another element type", [&](bench& here) { here.run({here.a, here.x}, 1, p); });
  auto truth = sum_of_two;
  truth.instructions[0] = {definition<ops::less_op>().elementwise, {0, 1}, dtype::boolean};
  expect_refused("variable's type", [&](bench& here) { here.run({here.a, here.x}, 1, truth); });
}

TEST(fused_update, refuses_more_operands_than_it_has_places_for) {
  expect_refused("too many operands", [](bench& here) {
    std::vector<value> inputs{here.a};
    inputs.resize(90, here.x);
    here.run(inputs, 1, of_floats(90, {make(plus(), 0, 89)}, {90}));
  });
  expect_refused("too many operands", [](bench& here) {
    std::vector<value> inputs;
    std::vector<line> lines;
    std::vector<std::uint16_t> outputs;
    for (std::uint16_t i = 0; i < 9; ++i) {
      inputs.push_back(variable(constant(here.g, here.first), "many" + std::to_string(inputs.size())));
      lines.push_back(make(squared(), i));
      outputs.push_back(static_cast<std::uint16_t>(9 + i));
    }
    initializer(here.g);
    here.run(inputs, 9, of_floats(9, lines, outputs));
  });
}

// The squares of x, all alive at once, and then their sum with the variable.
program squares_at_once(std::uint16_t many) {
  std::vector<line> lines;
  for (std::uint16_t i = 0; i < many; ++i) lines.push_back(make(squared(), 1));
  std::uint16_t sum = 0;
  for (std::uint16_t i = 0; i < many; ++i) {
    lines.push_back(make(plus(), sum, static_cast<std::uint16_t>(2 + i)));
    sum = static_cast<std::uint16_t>(2 + many + i);
  }
  return of_floats(2, lines, {sum});
}

TEST(fused_update, computes_programs_with_many_registers) {
  for (auto registers : {std::uint16_t{50}, std::uint16_t{3000}}) {
    bench here;
    auto const got = here.run({here.a, here.x}, 1, squares_at_once(registers));
    EXPECT_EQ(test::to_doubles(got[0])[1], 2 + 4 * registers);
  }
}

TEST(fused_update, needs_a_variable_that_has_a_value_of_the_right_extents) {
  bench here;
  auto const p = std::make_shared<program const>(of_floats(2, {make(plus(), 0, 1)}, {2}));
  auto const empty = variable(here.g, type(dtype::float32, {2, 3}), "empty");
  auto const open = variable(here.g, type::of_unknown_rank(dtype::float32), "open");
  operation const first = record_erased<ops::fused_update_op>(here.g, {p, 1}, {empty, here.x});
  operation const second = record_erased<ops::fused_update_op>(here.g, {p, 1}, {open, here.x});
  session s(here.g, {.threads = 1});
  for (auto const& update : {first, second}) EXPECT_THROW(s.run({{here.x, here.first}}, update), error);
  s.run(assign(open, constant(here.g, here.first)));
  s.run({{here.x, here.first}}, second);
  EXPECT_EQ(test::to_doubles(s.run(open))[5], 12);
  auto const wider = test::counting(dtype::float32, {2, 4});
  s.run(assign(open, constant(here.g, wider)));
  EXPECT_THROW(s.run({{here.x, here.first}}, second), error);
  EXPECT_TRUE(same_bits(s.run(open), wider));
}

}  // namespace
}  // namespace rill
