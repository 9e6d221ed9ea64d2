#include "rill/ops/table/tensor_array.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "../../pass/subgraphs.hpp"
#include "../run.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/pass/passes.hpp"
#include "rill/rill.hpp"
#include "rill/run/plan/plan.hpp"
#include "rill/run/plan/request.hpp"

namespace rill {
namespace {

using test::expect_error;

TEST(tensor_array, is_written_row_by_row_and_read_stacked_gathered_and_put_behind_each_other) {
  graph g;
  tensor_array<of<float, 2>> const none(g, 3);
  auto const a = none.write(constant(g, 2), constant<float, 2>(g, {5, 6}))
                     .write(constant(g, std::int64_t{0}), constant<float, 2>(g, {1, 2}));
  auto const b = a.write(constant(g, 1), constant<float, 2>(g, {3, 4}));
  session s(g);
  EXPECT_TRUE(same_bits(s.run(b.stack()), matrix<float>({{1, 2}, {3, 4}, {5, 6}})));
  EXPECT_TRUE(same_bits(s.run(b.concat()), vector<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(same_bits(s.run(a.read(constant(g, 2))), vector<float>({5, 6})));
  EXPECT_TRUE(same_bits(s.run(b.gather(constant<std::int32_t, 2>(g, {2, 1}))), matrix<float>({{5, 6}, {3, 4}})));
  auto const [before, after, marks] = s.run(a.rows(), b.rows(), a.written());  // both live
  EXPECT_TRUE(same_bits(before, matrix<float>({{1, 2}, {0, 0}, {5, 6}})));
  EXPECT_TRUE(same_bits(after, matrix<float>({{1, 2}, {3, 4}, {5, 6}})));
  EXPECT_TRUE(same_bits(marks, vector<bool>({true, false, true})));
}

TEST(tensor_array, is_made_of_the_rows_or_pieces_of_a_value_and_scattered_to) {
  graph g;
  auto const x = constant<float, 4, 2>(g, {1, 2, 3, 4, 5, 6, 7, 8});
  auto const rows = tensor_array_from(x);
  static_assert(std::same_as<decltype(rows), tensor_array<of<float, 2>, 4> const>);
  auto const pieces = tensor_array_from<2>(x);
  static_assert(std::same_as<decltype(pieces), tensor_array<of<float, 2, 2>, 2> const>);
  auto const turned = tensor_array<of<float, 2>, 4>(g).scatter(constant<std::int32_t, 4>(g, {3, 2, 1, 0}), x);
  static_assert(std::same_as<decltype(turned.concat()), expr<of<float, 8>>>);
  session s(g);
  EXPECT_TRUE(same_bits(s.run(rows.read(constant(g, 1))), vector<float>({3, 4})));
  EXPECT_TRUE(same_bits(s.run(pieces.read(constant(g, 1))), matrix<float>({{5, 6}, {7, 8}})));
  EXPECT_TRUE(same_bits(s.run(pieces.concat()), s.run(x)));
  EXPECT_TRUE(same_bits(s.run(turned.stack()), matrix<float>({{7, 8}, {5, 6}, {3, 4}, {1, 2}})));
}

TEST(tensor_array, holds_elements_of_every_type) {
  for (std::size_t d = 0; d < dtype_count; ++d) {
    auto const element = static_cast<dtype>(d);
    if (element == dtype::string) continue;
    tensor two(element, {2, 3});
    auto* const bytes = static_cast<std::byte*>(two.mutable_raw());
    for (std::size_t i = 0; i < two.bytes(); ++i) bytes[i] = std::byte(element == dtype::boolean ? i % 2 : i % 120);
    graph g;
    auto const x = placeholder(g, type(element, {2, 3}), "x");
    auto const made = detail::erased_outputs(
        record_erased<ops::array_new_op>(g, {element}, {x, value(constant<bool, 3>(g, {true, true, true}))}), 2);
    auto const node =
        record_erased<ops::array_write_op>(g, {}, {made[0], made[1], value(constant<std::int32_t, 2>(g, {1, 0})), x});
    auto const back = record_erased<ops::array_read_op>(
        g, {}, {node, value{&g, node.node, 1}, value(constant<std::int32_t, 2>(g, {1, 0}))});
    session s(g);
    EXPECT_TRUE(same_bits(s.run({{x, two}}, back), two)) << name(element);
  }
}

TEST(tensor_array, holds_strings) {
  graph g;
  tensor_array<of<std::string>> const none(g, 2);
  auto const a = none.write(constant(g, 1), constant(g, std::string("one")))
                     .write(constant(g, 0), constant(g, std::string("nil")));
  session s(g);
  EXPECT_TRUE(same_bits(s.run(a.stack()), vector<std::string>({"nil", "one"})));
  EXPECT_EQ(s.run(a.read(constant(g, 1))).item<std::string>(), "one");
}

TEST(tensor_array, refuses_to_write_twice_to_read_what_is_not_written_and_what_lies_outside) {
  graph g;
  tensor_array<of<float>> const none(g, 3);
  auto const i = placeholder<std::int32_t>(g, "i");
  auto const a = none.write(constant(g, 1), constant(g, 5.f));
  auto const again = a.write(i, constant(g, 6.f)).stack();
  auto const read = a.read(i);
  auto const twice = none.write(constant<std::int32_t, 2>(g, {2, 2}), constant<float, 2>(g, {1, 2})).rows();
  session s(g);
  auto const at = [&](int n) { return std::vector<feed>{{i, tensor(n)}}; };
  expect_error(code::failed_precondition, "row 1 was already written", [&] { s.run(at(1), again); });
  expect_error(code::failed_precondition, "row 2 was never written", [&] { s.run(at(0), again); });
  expect_error(code::failed_precondition, "row 2 is written twice by one write", [&] { s.run(twice); });
  expect_error(code::failed_precondition, "row 0 was read before it was written", [&] { s.run(at(0), read); });
  expect_error(code::invalid_argument, "there are 3 rows", [&] { s.run(at(3), read); });
  expect_error(code::invalid_argument, "there are 3 rows", [&] { s.run(at(-1), again); });
  EXPECT_EQ(float(s.run(at(1), read)), 5.f);
  expect_error(code::invalid_argument, "do not have the type of the array's rows",
               [&] { none.write(i, value(constant<float, 2>(g, {1, 2}))); });
  expect_error(code::invalid_argument, "do not have the type of the array's rows",
               [&] { none.write(i, value(constant(g, 1))); });
  expect_error(code::invalid_argument, "neither int32 nor int64", [&] { none.read(value(constant(g, 1.f))); });
  expect_error(code::invalid_argument, "negative", [&] { tensor_array<of<float>>(g, -1); });
  expect_error(code::invalid_argument, "differs from its static type", [&] { tensor_array<of<float>, 2>(g, 3); });
  expect_error(code::invalid_argument, "`like` takes them", [&] { tensor_array<of<float, unknown>>(g, 3); });
}

// 0, 1, 1, 2, 3, 5, …: each from the two before it.
template <dim N> auto fibonacci(graph& g, tensor_array<of<double>, N> none, expr<of<double>> first, int n) {
  auto const a = none.write(constant(g, 0), first).write(constant(g, 1), first + 1.0);
  auto const [i, done] = while_loop(
      [=](auto k, auto) { return k < n; },
      [](auto k, auto all) { return std::tuple{k + 1, all.write(k, all.read(k - 1) + tanh(all.read(k - 2)))}; },
      constant(g, 2), a);
  return done;
}

TEST(tensor_array, is_a_variable_of_a_loop_a_state_of_a_fold_and_a_result_of_a_cond) {
  graph g;
  auto const x = constant<float, 3>(g, {1, 2, 3});
  auto const up = fold([](auto state, auto row) { return state.write(cast<std::int32_t>(row) - 1, row * row); },
                       tensor_array_like(x, constant(g, 0.f)), x);
  static_assert(std::same_as<decltype(up), tensor_array<of<float>, 3> const>);
  auto const p = placeholder<bool>(g, "p");
  auto const either = cond(p, [&] { return tensor_array_from(x); }, [&] { return up; });
  session s(g);
  EXPECT_TRUE(same_bits(s.run(up.stack()), vector<float>({1, 4, 9})));
  EXPECT_TRUE(same_bits(s.run({{p, tensor(true)}}, either.stack()), vector<float>({1, 2, 3})));
  EXPECT_TRUE(same_bits(s.run({{p, tensor(false)}}, either.stack()), vector<float>({1, 4, 9})));
  auto const [n, both] =
      while_loop([](auto k, auto) { return k < 3; },
                 [&](auto k, auto all) {
                   return std::tuple{k + 1, cond(k == 1, [&] { return all; }, [&] { return all.write(k, k); })};
                 },
                 constant(g, 0), tensor_array<of<std::int32_t>>(g, 3));
  EXPECT_TRUE(same_bits(s.run(both.written()), vector<bool>({true, false, true})));
  auto const [m, twice] = while_loop([](auto k, auto) { return k < 3; },
                                     [](auto k, auto all) { return std::tuple{k + 1, all.write(k / 2, k)}; },
                                     constant(g, 0), tensor_array<of<std::int32_t>>(g, 3));
  expect_error(code::failed_precondition, "in iteration 1", [&] { s.run(twice.rows()); });
}

TEST(tensor_array, that_somebody_still_looks_at_is_not_written_over) {
  graph g;
  auto const n = 4;
  // The array before the last write is a loop variable, too; and what is read from the old one waits for the new one.
  auto const [k, now, before, total] =
      while_loop([](auto i, auto...) { return i < n; },
                 [](auto i, auto all, auto, auto t) {
                   auto const next = all.write(i, cast<float>(i + 1));
                   auto const late = sum(all.rows() * next.read(i));
                   return std::tuple{i + 1, next, all, t + late};
                 },
                 constant(g, 0), tensor_array<of<float>>(g, n), tensor_array<of<float>>(g, n), constant(g, 0.f));
  for (auto const& options : {session_options{.threads = 1}, {.threads = 2, .passes = pass_options::none()}}) {
    session s(g, options);
    auto const [a, b, t] = s.run(now.rows(), before.rows(), total);
    EXPECT_TRUE(same_bits(a, vector<float>({1, 2, 3, 4})));
    EXPECT_TRUE(same_bits(b, vector<float>({1, 2, 3, 0})));
    EXPECT_EQ(float(t), 0.f * 1 + 1 * 2 + 3 * 3 + 6 * 4);
  }
}

TEST(tensor_array, may_be_written_twice_in_an_iteration) {
  graph g;
  auto const [k, all] =
      while_loop([](auto i, auto) { return i < 3; },
                 [](auto i, auto a) { return std::tuple{i + 1, a.write(i * 2, i).write(i * 2 + 1, -i)}; },
                 constant(g, 0), tensor_array<of<std::int32_t>>(g, 6));
  session s(g);
  for (int again = 0; again < 2; ++again)
    EXPECT_TRUE(same_bits(s.run(all.stack()), vector<std::int32_t>({0, 0, 1, -1, 2, -2})));
}

TEST(tensor_array, has_the_gradient_of_the_same_written_out) {
  int const n = 7;
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const done = fibonacci(g, tensor_array<of<double>>(g, n), x, n);
  auto const loss = sum(square(done.stack()) * 0.5) + done.read(constant(g, 3));
  std::vector<expr<of<double>>> v{x, x + 1.0};
  for (std::size_t k = 2; k < static_cast<std::size_t>(n); ++k) v.push_back(v[k - 1] + tanh(v[k - 2]));
  expr<of<double>> plain = v[3];
  for (auto const& each : v) plain = plain + square(each) * 0.5;
  auto const [d] = gradients(loss, x);
  auto const [dd] = gradients(d, x);
  auto const [e] = gradients(plain, x);
  auto const [ee] = gradients(e, x);
  session s(g);
  for (double at : {0.3, -1.0}) {
    auto const [l, p, d0, e0, d1, e1] = s.run({{x, tensor(at)}}, loss, plain, d, e, dd, ee);
    EXPECT_NEAR(double(l), double(p), 1e-12);
    EXPECT_NEAR(double(d0), double(e0), 1e-10);
    EXPECT_NEAR(double(d1), double(e1), 1e-8);
    auto const near = [&](double moved) { return double(s.run({{x, tensor(at + moved)}}, loss)); };
    EXPECT_NEAR(double(d0), (near(1e-5) - near(-1e-5)) / 2e-5, 1e-5);
  }
}

TEST(tensor_array, that_is_read_in_a_loop_gathers_its_gradient_row_by_row) {
  graph g;
  auto const x = placeholder<double, 5, 2>(g, "x");
  auto const rows = tensor_array_from(x);
  auto const [i, total] = while_loop([](auto k, auto) { return k < 8; },
                                     [&](auto k, auto sum_so_far) {
                                       auto const row = rows.read(k * k - k * k / 5 * 5);  // k² mod 5: 0 1 4 4 1 0 1 4
                                       return std::tuple{k + 1, sum_so_far * 0.5 + sum(row * row)};
                                     },
                                     constant(g, 0), constant(g, 0.0));
  auto const [d] = gradients(total, x);
  session s(g);
  tensor fed(dtype::float64, {5, 2});
  for (int k = 0; k < 10; ++k) fed.mutable_data<double>()[k] = k + 1;
  auto const got = s.run({{x, fed}}, d);
  double weight[5] = {};
  for (int k = 0; k < 8; ++k) weight[k * k % 5] += std::pow(0.5, 7 - k);
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 2; ++c) EXPECT_NEAR(got.at<double>(r, c), 2 * weight[r] * fed.at<double>(r, c), 1e-12);
}

// So many rows of 4 KiB, written and read in a loop: what it takes, and the memory.
struct loop_of_writes {
  std::int64_t n;
  graph g;
  expr<of<float, 1024>> x = placeholder<float, 1024>(g, "x");
  value loss, dx;

  explicit loop_of_writes(std::int64_t count) : n(count) {
    auto const a = tensor_array<of<float, 1024>>(g, n).write(constant(g, std::int64_t{0}), x);
    auto const [i, done] = while_loop([&](auto k, auto) { return k < n; },
                                      [](auto k, auto all) {
                                        auto const last = all.read(k - std::int64_t{1});
                                        return std::tuple{k + std::int64_t{1}, all.write(k, last * 0.5f)};
                                      },
                                      constant(g, std::int64_t{1}), a);
    loss = sum(done.stack());
    dx = std::get<0>(gradients(expr<of<float>>{loss}, x));
  }
};

/// Compiles bodies of loops, and notes whether one of them writes an array of such rows in its place.
struct watched_compiling {
  static inline type array = {};
  static inline bool in_place = false;
  static std::shared_ptr<compiled_body> compile(kernel_request const& r, subgraph const& body,
                                                std::span<type const> arguments) {
    auto made = compile_body(r, body, arguments);
    for (std::size_t i = 0; i < std::min(arguments.size(), body.outputs.size()); ++i)
      if (arguments[i] == array) in_place = in_place || made->overwritten(i) == static_cast<std::int64_t>(i);
    return made;
  }
};

/// Of each outermost loop of a step, whether it writes such an array in its place.
std::vector<bool> loops_in_place(graph& g, std::vector<value> const& fetched, std::vector<value> const& fed,
                                 type const& array) {
  container state;
  host_memory memory;
  pass_options passes;
  passes.functions = false;
  auto sub = part_of(g, fetched, {}, fed);
  rewrite(sub, passes, state, nullptr);
  auto const functions = no_functions();
  std::vector<bool> found;
  watched_compiling::array = array;
  for (auto const& n : sub.nodes) {
    if (!ops::is_loop(n)) continue;
    std::vector<type> inputs;
    for (auto e : n.inputs) inputs.push_back(sub.type_of(e));
    watched_compiling::in_place = false;
    n.op->cpu({.at = n,
               .inputs = inputs,
               .outputs = n.outputs,
               .variables = {},
               .state = state,
               .seed = 0,
               .threads = 1,
               .memory = &memory,
               .passes = &passes,
               .compile = watched_compiling::compile,
               .functions = functions.get()});
    found.push_back(watched_compiling::in_place);
  }
  return found;
}

TEST(tensor_array, in_a_loop_is_written_in_place_and_so_is_its_gradient) {
  loop_of_writes of(20);
  EXPECT_EQ(loops_in_place(of.g, {of.loss, of.dx}, {of.x}, rill::of<float, 20, 1024>), (std::vector{true, true}));
}

TEST(tensor_array, and_its_gradient_have_the_memory_of_a_few_copies) {
  loop_of_writes of(500);
  host_memory memory;
  session s(of.g, {.threads = 1, .memory = &memory});
  auto step = s.prepare(inputs(of.x), outputs(of.dx));
  step(tensor(dtype::float32, {1024}));
  EXPECT_LT(memory.usage().peak, 12u * 500 * 4096);
}

TEST(tensor_array, travels_as_bytes) {
  graph g;
  auto const done = fibonacci(g, tensor_array<of<double>>(g, 6), constant(g, 0.0), 6);
  auto const all = done.stack();
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  session s(g), t(*again);
  EXPECT_TRUE(same_bits(s.run(all), t.run({}, std::vector<std::string>{all.name()})[0]));
}

TEST(tensor_array, is_the_state_of_a_scan_and_a_result_of_a_map_with_their_gradients) {
  graph g;
  auto const x = placeholder<double, 3>(g, "x");
  auto const write = [](auto state, auto row) {
    auto const at = cast<std::int32_t>(sum(cast<double>(state.written())));
    return state.write(at, row * row);
  };
  auto const [rows, written] = scan(write, tensor_array<of<double>, 3>(g), x);
  static_assert(decltype(rows)::static_type == of<double, 3, 3> && decltype(written)::static_type == of<bool, 3, 3>);
  auto const done = fold(write, tensor_array<of<double>, 3>(g), x);
  auto const [pairs, marks] = map(
      [&](auto row) { return tensor_array<of<double>, 2>(g).write(constant(g, 1), row * done.read(constant(g, 0))); },
      x);
  auto const weights = constant<double, 3, 3>(g, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  auto const [d] = gradients(sum(rows * weights), x);
  auto const [e] = gradients(sum(pairs), x);
  for (auto wish : {execution::sequential, execution::tagged})
    for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
      session s(g, {.threads = 2, .passes = passes, .execution = wish});
      auto const [r, w, p, m, dx, ex] = s.run({{x, vector<double>({2, 3, 5})}}, rows, written, pairs, marks, d, e);
      EXPECT_TRUE(same_bits(r, matrix<double>({{4, 0, 0}, {4, 9, 0}, {4, 9, 25}})));
      EXPECT_TRUE(same_bits(w, matrix<bool>({{true, false, false}, {true, true, false}, {true, true, true}})));
      EXPECT_TRUE(same_bits(p, matrix<double>({{0, 8}, {0, 12}, {0, 20}})));
      EXPECT_TRUE(same_bits(m, matrix<bool>({{false, true}, {false, true}, {false, true}})));
      EXPECT_TRUE(same_bits(dx, vector<double>({2 * 2 * 12., 2 * 3 * 13., 2 * 5 * 9.})));
      EXPECT_TRUE(same_bits(ex, vector<double>({3 * 2 * 2. + 2 * 2 * (3 + 5), 4, 4})));  // x₀²(x₀ + x₁ + x₂)
    }
}

TEST(tensor_array, of_strings_goes_through_loops_and_branches) {
  std::string const late(40, 'z');  // too long to lie in the string itself
  graph g;
  auto const words = placeholder<std::string, 3>(g, "words");
  auto const [i, all] = while_loop(
      [](auto k, auto) { return k < 3; },
      [&](auto k, auto a) {
        return std::tuple{k + 1, cond(k == 1, [&] { return a; }, [&] { return a.write(k, gather(words, k)); })};
      },
      constant(g, 0), tensor_array<of<std::string>>(g, 3));
  for (auto wish : {execution::sequential, execution::tagged}) {
    session s(g, {.threads = 2, .execution = wish});
    for (int again = 0; again < 2; ++again)
      EXPECT_TRUE(same_bits(s.run({{words, vector<std::string>({late, "b", late})}}, all.rows()),
                            vector<std::string>({late, "", late})));
  }
}

TEST(tensor_array, within_nested_loops_branches_and_calls_is_written_in_place) {
  using array = tensor_array<of<float>, 20>;
  struct nested {
    char const* name;
    std::function<array(graph&, expr<of<int>>, array, expr<of<float>>)> write;
  };
  nested const all[] = {
      {"branch",
       [](graph&, auto k, array a, auto x) {
         return cond(k == 3, [&] { return a; }, [&] { return a.write(k, x * cast<float>(k)); });
       }},
      {"branch within a branch",
       [](graph&, auto k, array a, auto x) {
         return cond(
             k < 7, [&] { return a.write(k, x * cast<float>(k)); },
             [&] { return cond(k < 9, [&] { return a; }, [&] { return a.write(k, x - cast<float>(k)); }); });
       }},
      {"loop",
       [](graph&, auto k, array a, auto x) {
         return std::get<1>(while_loop([=](auto j, auto) { return j < k + 1; },
                                       [=](auto j, auto in) { return std::tuple{j + 1, in.write(j, x * x)}; }, k, a));
       }},
      {"loop with a branch, and writes before and behind it",
       [](graph& g, auto k, array a, auto x) {
         auto const in = fold(
             [&](auto state, auto row) {
               return cond(row == 0.f, [&] { return state; }, [&] { return state.write(k + 5, row * x); });
             },
             a.write(k, x * cast<float>(k)), constant<float, 3>(g, {0, 2, 0}));
         return in.write(k + 10, x);
       }},
      {"call",
       [](graph& g, auto k, array a, auto x) {
         auto const f = rill::function<"f", of<float, 20>, of<bool, 20>, of<int>>(
             g, [=](auto rows, auto written, auto at) { return array({rows, written}).write(at, x).as_parts(); });
         auto const [rows, written] = a.as_parts();
         return array(f(rows, written, k));
       }},
  };
  for (auto const& each : all) {
    graph g;
    auto const x = placeholder<float>(g, "x");
    auto const [i, done] =
        while_loop([](auto k, auto) { return k < 5; },
                   [&](auto k, auto a) { return std::tuple{k + 1, each.write(g, k, a, x)}; }, constant(g, 0), array(g));
    auto const [slope] = gradients(sum(done.rows()), x);
    EXPECT_EQ(loops_in_place(g, {done.rows()}, {x}, of<float, 20>), (std::vector{true})) << each.name;
    // The derivatives of loops and calls keep what each was given.
    if (std::string_view(each.name).starts_with("branch")) {
      EXPECT_EQ(loops_in_place(g, {slope}, {x}, of<float, 20>), (std::vector{true, true})) << each.name;
    }
    session straight(g), copying(g, {.execution = execution::tagged});
    std::vector<feed> const fed{{x, tensor(2.f)}};
    auto const [rows, written, d] = straight.run(fed, done.rows(), done.written(), slope);
    auto const [same_rows, same_written, same_d] = copying.run(fed, done.rows(), done.written(), slope);
    EXPECT_TRUE(same_bits(rows, same_rows)) << each.name;
    EXPECT_TRUE(same_bits(written, same_written)) << each.name;
    EXPECT_TRUE(same_bits(d, same_d)) << each.name;
  }
}

TEST(tensor_array, that_somebody_still_looks_at_is_not_written_over_in_a_nested_body) {
  graph g;
  auto const x = constant<float, 4>(g, {1, 2, 3, 4});
  auto const never = constant(g, 9);
  // The one before is a variable, an argument of the body under another name, and read when the new one is there.
  auto const [i, now, before, total] = while_loop(
      [](auto k, auto...) { return k < 4; },
      [&](auto k, auto a, auto, auto t) {
        auto const named = identity(a.rows());
        auto const written = cond(
            k == never, [&] { return std::tuple{a, sum(a.rows())}; },
            [&] {
              auto const next = a.write(k, gather(x, k));
              return std::tuple{next, sum(named * next.read(k))};
            });
        auto const next = std::get<0>(written);
        auto const [j, twice] = while_loop([](auto n, auto) { return n < 1; },
                                           [](auto n, auto in) { return std::tuple{n + 1, in}; }, constant(g, 0), next);
        return std::tuple{k + 1, twice, a, t + std::get<1>(written) + sum(a.rows())};
      },
      constant(g, 0), tensor_array<of<float>, 4>(g), tensor_array<of<float>, 4>(g), constant(g, 0.f));
  for (auto const& options : {session_options{.threads = 1},
                              {.threads = 2, .passes = pass_options::none()},
                              {.threads = 1, .execution = execution::tagged}}) {
    session s(g, options);
    auto const [a, b, t] = s.run(now.rows(), before.rows(), total);
    EXPECT_TRUE(same_bits(a, vector<float>({1, 2, 3, 4})));
    EXPECT_TRUE(same_bits(b, vector<float>({1, 2, 3, 0})));
    EXPECT_EQ(float(t), (1 * 2 + 3 * 3 + 6 * 4) + (1 + 3 + 6));
  }
}

TEST(tensor_array, read_under_two_names_by_one_branch_is_not_written_over) {
  graph g;
  auto const [i, all, total] = while_loop([](auto k, auto...) { return k < 3; },
                                          [&](auto k, auto a, auto t) {
                                            auto const named = identity(a.rows());  // lies where the array does
                                            auto const [next, late] = cond(
                                                k < 3,
                                                [&] {
                                                  auto const made = a.write(k, cast<float>(k + 1));
                                                  return std::tuple{made, sum(named * made.read(k))};
                                                },
                                                [&] { return std::tuple{a, sum(named)}; });
                                            return std::tuple{k + 1, next, t + late};
                                          },
                                          constant(g, 0), tensor_array<of<float>, 3>(g), constant(g, 0.f));
  for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
    session s(g, {.threads = 1, .passes = passes});
    auto const [rows, t] = s.run(all.rows(), total);
    EXPECT_TRUE(same_bits(rows, vector<float>({1, 2, 3})));
    EXPECT_EQ(float(t), 1 * 2 + 3 * 3);
  }
}

}  // namespace
}  // namespace rill
