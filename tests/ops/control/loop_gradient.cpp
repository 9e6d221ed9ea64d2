#include "rill/ops/control/loop.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../executions.hpp"
#include "../run.hpp"
#include "base/sentence.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::expect_error, test::scattered;

// Central differences of a scalar of double with respect to one fed value, against its derivative.
template <class Session>
void expect_differences(Session& s, value y, value dx, std::vector<feed> const& feeds, std::size_t which,
                        double tolerance = 1e-6) {
  auto const& to = feeds[which].to;
  auto const& with = feeds[which].with;
  tensor const got = s.run(feeds, dx);
  ASSERT_EQ(got.shape(), with.shape());
  for (std::int64_t i = 0; i < with.elements(); ++i) {
    double both[2];
    for (int k : {0, 1}) {
      auto moved = with.clone();
      moved.mutable_data<double>()[i] += k == 0 ? 1e-5 : -1e-5;
      auto changed = feeds;
      changed[which] = feed(to, moved);
      tensor const there = s.run(changed, y);
      both[k] = there.item<double>();
    }
    EXPECT_NEAR(got.data<double>()[i], (both[0] - both[1]) / 2e-5, tolerance) << "element " << i;
  }
}

TEST(loop_gradient, of_a_while_whose_count_depends_on_its_values_is_that_of_as_many_steps) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const y = while_loop([](auto v) { return v < 100.0; }, [](auto v) { return v * v; }, x);
  auto const [d] = gradients(y, x);
  auto const [dd] = gradients(d, x);
  auto const [ddd] = gradients(dd, x);
  test::each_execution s(g);
  for (double v : {200., 11., 3., 2., 1.5}) {
    int power = 1;
    for (double z = v; z < 100; z *= z) power *= 2;
    double const p = power;
    auto const [y0, y1, y2, y3] = s.run({{x, tensor(v)}}, y, d, dd, ddd);
    EXPECT_NEAR(double(y0) / std::pow(v, p), 1, 1e-12);
    EXPECT_NEAR(double(y1) / (p * std::pow(v, p - 1)), 1, 1e-12);
    EXPECT_NEAR(double(y2), p * (p - 1) * std::pow(v, p - 2), 1e-9 * double(y0));
    EXPECT_NEAR(double(y3), p * (p - 1) * (p - 2) * std::pow(v, p - 3), 1e-9 * double(y0));
  }
}

TEST(loop_gradient, of_no_iterations_is_that_of_the_first_values_and_zeros_of_the_run_time_shape) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x"), c = placeholder<float, "n">(g, "c");
  auto const limit = placeholder<std::int32_t>(g, "limit");
  auto const [i, y] = while_loop([&](auto k, auto) { return k < limit; },
                                 [&](auto k, auto v) { return std::tuple{k + 1, v * c}; }, constant(g, 0), x);
  auto const [dx, dc] = gradients(sum(y), x, c);
  test::each_execution s(g);
  auto const three = vector<float>({1, 2, 3}), others = vector<float>({2, 3, 4});
  auto const run = [&](int n) { return s.run({{x, three}, {c, others}, {limit, tensor(n)}}, dx, dc); };
  auto const [x0, c0] = run(0);
  EXPECT_TRUE(same_bits(x0, vector<float>({1, 1, 1})));
  EXPECT_TRUE(same_bits(c0, vector<float>({0, 0, 0})));
  auto const [x2, c2] = run(2);
  EXPECT_TRUE(same_bits(x2, vector<float>({4, 9, 16})));
  EXPECT_TRUE(same_bits(c2, vector<float>({4, 12, 24})));
}

TEST(loop_gradient, where_there_is_no_path_there_is_none) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x"), c = placeholder<float, 3>(g, "c"), e = placeholder<float, 3>(g, "e");
  auto const y = map([&](auto row) { return row * stop_gradient(sum(c)) + sum(e) * 0.f; }, x);
  EXPECT_FALSE(partial_gradients(sum(y), {c})[0]);
  EXPECT_TRUE(partial_gradients(sum(y), {e})[0]);
  EXPECT_FALSE(partial_gradients(sum(stop_gradient(y)), {x})[0]);
  expect_error(code::invalid_argument, "does not depend on", [&] { gradients(sum(y), c); });
}

TEST(loop_gradient, of_scan_agrees_with_differences) {
  graph g;
  auto const x = placeholder<double, "n", 2>(g, "x");
  auto const first = placeholder<double, 2>(g, "first");
  auto const w = placeholder<double, 2, 2>(g, "w");
  auto const states =
      scan([&](auto s, auto row) { return tanh(reshape<2>(matmul(reshape<1, 2>(s + row), w))); }, first, x);
  auto const y = sum(states * states);
  auto const [dx, df, dw] = gradients(y, x, first, w);
  test::each_execution s(g);
  std::vector<feed> const feeds{{x, matrix<double>({{1, 2}, {-3, .5}, {.25, -1}})},
                                {first, vector<double>({.1, -.2})},
                                {w, matrix<double>({{.1, .2}, {-.3, .4}})}};
  expect_differences(s, y, dx, feeds, 0);
  expect_differences(s, y, df, feeds, 1);
  expect_differences(s, y, dw, feeds, 2);
  auto const [ddw] = gradients(sum(dw * dw), w);
  expect_differences(s, sum(dw * dw), ddw, feeds, 2, 1e-5);
}

TEST(loop_gradient, of_folds_from_either_end_agrees_with_differences) {
  graph g;
  auto const x = placeholder<double, "n", 2>(g, "x");
  auto const first = placeholder<double, 2>(g, "first");
  for (bool right : {false, true}) {
    auto const f = [](auto s, auto row) { return s * 0.5 + s * row; };
    auto const y = sum(right ? fold_right(f, first, x) : fold(f, first, x));
    auto const [dx, df] = gradients(y, x, first);
    test::each_execution s(g);
    std::vector<feed> const feeds{{x, matrix<double>({{1, 2}, {-3, .5}, {.25, -1}})},
                                  {first, vector<double>({.1, -.2})}};
    expect_differences(s, y, dx, feeds, 0);
    expect_differences(s, y, df, feeds, 1);
  }
}

TEST(loop_gradient, of_a_row_that_is_handed_on_unchanged_is_right) {
  graph g;
  auto const x = placeholder<float, 3, 2>(g, "x");
  auto const first = placeholder<float, 2>(g, "first");
  auto const last = fold([](auto, auto row) { return row; }, first, x);
  auto const [dx, df] = gradients(sum(last * last), x, first);
  test::each_execution s(g);
  auto const [a, b] = s.run({{x, matrix<float>({{1, 2}, {3, 4}, {5, 6}})}, {first, vector<float>({7, 8})}}, dx, df);
  EXPECT_TRUE(same_bits(a, matrix<float>({{0, 0}, {0, 0}, {10, 12}})));
  EXPECT_TRUE(same_bits(b, vector<float>({0, 0})));
}

TEST(loop_gradient, of_nested_loops_and_branches_agrees_with_differences) {
  graph g;
  auto const x = placeholder<double, "n", 3>(g, "x");
  auto const w = placeholder<double>(g, "w");
  auto const rows = map(
      [&](auto row) {
        auto const inner = scan([&](auto s, auto e) { return tanh(s * w + e); }, sum(row) * 0.1, row);
        auto const [k, grown] = while_loop([](auto, auto v) { return v < 4.0; },
                                           [&](auto i, auto v) { return std::tuple{i + 1, v * v + w}; }, constant(g, 0),
                                           sum(inner * inner) + 1.0);
        return cond(
            grown < 9.0, [&] { return grown * w; },
            [&] { return fold([&](auto s, auto e) { return s + e * e * w; }, grown, row); });
      },
      x);
  auto const y = sum(rows);
  auto const [dx, dw] = gradients(y, x, w);
  std::vector<feed> const feeds{{x, matrix<double>({{1, 2, .5}, {-.3, .5, .1}, {.25, -1, .7}, {.1, .1, .1}})},
                                {w, tensor(0.7)}};
  for (auto passes : {pass_options{}, pass_options::none()}) {
    test::each_execution s(g, {.passes = passes});
    expect_differences(s, y, dx, feeds, 0, 1e-5);
    expect_differences(s, y, dw, feeds, 1, 1e-4);
  }
}

TEST(loop_gradient, of_a_loop_in_a_branch_agrees_with_differences) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const y = cond(
      x < 0.0, [&] { return x * 2.0; },
      [&] { return while_loop([](auto v) { return v < 50.0; }, [&](auto v) { return v * v + x; }, x + 1.0); });
  auto const [dx] = gradients(y, x);
  test::each_execution s(g);
  for (double v : {-1., .5, 2.}) expect_differences(s, y, dx, {{x, tensor(v)}}, 0, 1e-3);
}

TEST(loop_gradient, draws_the_numbers_that_the_forward_loop_drew) {
  graph g(5);
  auto const x = placeholder<float, 6, 4>(g, "x");
  auto const y = map([&](auto row) { return row * row * uniform<float, 4>(g); }, x);
  auto const [dx] = gradients(sum(y), x);
  test::each_execution s(g);
  tensor fed(dtype::float32, {6, 4});
  std::fill_n(fed.mutable_data<float>(), 24, 2.f);
  auto const [a, b] = s.run({{x, fed}}, y, dx);
  EXPECT_TRUE(same_bits(a, b));  // x² u and 2 x u, at x = 2
}

TEST(loop_gradient, reads_variables_as_the_step_found_them_and_trains_them) {
  graph g;
  auto const w = variable(constant(g, 0.5f), "w");
  auto const x = placeholder<float, "n">(g, "x");
  auto const y = fold([&](auto s, auto e) { return s * w + e; }, constant(g, 0.f), x);  // Σ eᵢ wⁿ⁻¹⁻ⁱ
  auto const loss = square(y - 10.f);
  auto const [dw] = gradients(loss, w);
  auto const train = assign_sub(w, dw * 0.01f);
  test::each_execution s(g);
  s.run(initializer(g));
  auto step = s.prepare(inputs(x), outputs(loss), train);
  auto const fed = vector<float>({1, 2, 3});
  float const first = step(fed);
  float const e = 0.25f + 1.f + 3.f - 10.f;
  EXPECT_EQ(first, e * e);
  EXPECT_FLOAT_EQ(float(s.run(w)), 0.5f - 0.01f * 2 * e * (2 * 0.5f + 2));
  float last = first;
  for (int i = 0; i < 100; ++i) last = step(fed);
  EXPECT_LT(last, 1e-6f);
}

TEST(loop_gradient, has_the_same_bits_on_any_number_of_threads_with_passes_and_without) {
  graph g;
  auto const x = placeholder<float, 9, 32>(g, "x");
  auto const w = placeholder<float, 32, 32>(g, "w");
  auto const h = scan([&](auto s, auto row) { return tanh(matmul(s, w) + reshape<1, 32>(row)); },
                      fill<1, 32>(constant(g, 0.1f)), x);
  auto const [dx, dw] = gradients(sum(h), x, w);
  std::vector<feed> const feeds{{x, scattered(dtype::float32, {9, 32})}, {w, scattered(dtype::float32, {32, 32}, 7)}};
  test::each_execution one(g, {.threads = 1}), two(g, {.threads = 2}),
      plain(g, {.threads = 1, .passes = pass_options::none()});
  auto const [a, b] = one.run(feeds, dx, dw);
  for (auto* s : {&two, &plain}) {
    auto const [c, d] = s->run(feeds, dx, dw);
    EXPECT_TRUE(same_bits(a, c) && same_bits(b, d));
  }
}

TEST(loop_gradient, of_rows_that_are_taken_by_number_stays_in_its_rows) {
  graph g;
  auto const table = placeholder<float, 4, 2>(g, "table");
  auto const which = placeholder<std::int32_t, "n">(g, "which");
  auto const y = map([&](auto i) { return sum(gather(table, reshape<1>(i)) * 3.f); }, which);
  auto const [d] = gradients(sum(y), table);
  test::each_execution s(g);
  auto const got = s.run({{table, scattered(dtype::float32, {4, 2})}, {which, vector<std::int32_t>({1, 3, 1})}}, d);
  EXPECT_TRUE(same_bits(got, matrix<float>({{0, 0}, {6, 6}, {0, 0}, {3, 3}})));
}

// What is alive at once in a step that has run before.
template <class N, class X, class Y>
std::int64_t peak_of_a_step(graph& g, N n, X x, Y const& result, int times, tensor const& fed) {
  host_memory memory;
  session s(g, {.threads = 1, .memory = &memory});
  auto step = s.prepare(inputs(n, x), outputs(result));
  step(tensor(times), fed);
  memory.reset_peak();
  step(tensor(times), fed);
  return memory.usage().peak;
}

TEST(loop_gradient, keeps_what_the_derivative_reads_and_nothing_more) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const x = placeholder<float, 256>(g, "x");
  auto const [i, y] =
      while_loop([&](auto k, auto) { return k < n; },
                 [](auto k, auto v) { return std::tuple{k + 1, tanh(v * 0.5f + 1.f)}; }, constant(g, 0), x);
  auto const [dx] = gradients(sum(y), x);
  tensor const fed(dtype::float32, {256});
  auto const peak = [&](int times) { return peak_of_a_step(g, n, x, dx, times, fed); };
  auto const ten = peak(10);
  for (int times : {100, 1000}) EXPECT_EQ(peak(times) - ten, (times - 10) * 1024) << times;  // tanh's value, once
}

TEST(loop_gradient, keeps_what_the_derivative_reads_in_the_memory_that_is_there_for_it) {
  struct small final : allocator {
    void* acquire(std::size_t bytes) noexcept override { return usual.allocate(bytes); }
    void release(void* p, std::size_t bytes) noexcept override { usual.deallocate(p, bytes); }
    allocator& saved() noexcept override { return large; }
    host_memory usual, large;
  };
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const x = placeholder<float, 256>(g, "x");
  auto const counted = fold([](auto v, auto row) { return tanh(v * row + 1.f); }, x, uniform<float, 50, 256>(g, 0, 1));
  auto const [i, conditional] =
      while_loop([&](auto k, auto) { return k < n; },
                 [](auto k, auto v) { return std::tuple{k + 1, tanh(v * 0.5f + 1.f)}; }, constant(g, 0), x);
  auto const weights = uniform<float, 7, 256>(g, 0, 1);
  auto const nested = map([&](auto row) { return fold([&](auto v, auto w) { return tanh(v * w + x); }, row, weights); },
                          uniform<float, 3, 256>(g, 0, 1));
  tensor const fed = tensor::copy<float>(std::vector<float>(256, 0.25f), {256});
  auto const expect_kept = [&](auto const& y, std::int64_t bytes) {
    auto const [dx] = gradients(sum(y), x);
    auto const with = [&](allocator& memory, execution how, int threads) {
      session s(g, {.threads = threads, .memory = &memory, .execution = how});
      return s.run({{n, tensor(50)}, {x, fed}}, dx);
    };
    host_memory plain;
    auto const expected = with(plain, execution::sequential, 1);
    for (auto how : {execution::sequential, execution::parallel, execution::tagged})
      for (int threads : {1, 2}) {
        small memory;
        EXPECT_TRUE(same_bits(with(memory, how, threads), expected)) << static_cast<int>(how);
        EXPECT_GE(memory.large.usage().peak, bytes) << static_cast<int>(how);
        EXPECT_LE(memory.large.usage().peak, 4 * bytes) << "rows grow, or several iterations run at once";
        EXPECT_EQ(memory.large.usage().current, 0) << "it is given back with the step";
        if (how == execution::sequential) {
          EXPECT_LT(memory.usage().peak, plain.usage().peak);
        }
      }
  };
  expect_kept(counted, 50 * 1024);
  expect_kept(conditional, 50 * 1024);
  expect_kept(nested, 3 * 7 * 1024);  // of all folds
}

TEST(loop_gradient, rows_that_only_a_derivative_reads_are_not_made_without_it) {
  graph g;
  auto const x = placeholder<float, 5, 3>(g, "x");
  auto const y = sum(map([](auto row) { return tanh(row) * row; }, x));
  gradients(y, x);
  session s(g);
  tensor const fed(dtype::float32, {5, 3});
  auto const alone = s.explain({{x, fed}}, y);
  EXPECT_NE(alone.find("loops: unread rows and inputs removed: loop"), std::string::npos) << alone;
  auto const l = sum(map([](auto row) { return sum(row); }, x));
  auto const [dl] = gradients(l, x);
  auto const text = s.explain({{x, fed}}, dl);
  EXPECT_EQ(text.find("  loop"), std::string::npos) << text;  // the forward loop need not run at all
}

TEST(loop_gradient, travels_as_bytes) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = while_loop([](auto v) { return v < 100.f; }, [](auto v) { return v * v; }, x);
  auto const [dx] = gradients(y, x);
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  test::each_execution s(*again);
  EXPECT_EQ(s.run({{again->find("x"), tensor(3.f)}}, again->find(value(dx).name())).at<float>(), 8 * 2187.f);
}

TEST(loop_gradient, keeps_what_has_other_extents_in_each_iteration) {
  graph g;
  auto const x = placeholder<double, unknown>(g, "x");
  auto const w = placeholder<double>(g, "w");
  auto const [n, y] = while_loop(
      [](auto i, auto) { return i < 4; },
      [&](auto i, auto v) {
        auto const at = where(v > 0.);
        auto const some = gather(v, at);
        return std::tuple{i + 1, as<of<double, unknown>>(v * 0.5 + scatter_like(at, some * some * w, v) - 0.125)};
      },
      constant(g, 0), x);
  auto const total = sum(y * y);
  auto const [dx, dw] = gradients(total, x, w);
  auto const [ddw] = gradients(dw, w);
  for (auto wish : {execution::sequential, execution::automatic, execution::tagged}) {
    session s(g, {.threads = 2, .execution = wish});
    std::vector<feed> const feeds{{x, vector<double>({0.75, -1, 0.375, 0.1875})}, {w, tensor(0.5)}};
    expect_differences(s, total, dx, feeds, 0);
    expect_differences(s, total, dw, feeds, 1);
    expect_differences(s, dw, ddw, feeds, 1);
  }
}

TEST(loop_gradient, of_second_order_computes_a_loop_again_that_has_other_counts_in_each_iteration) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const [i, y] = while_loop([](auto k, auto) { return k < 4; },
                                 [&](auto k, auto v) {
                                   auto const [j, w] = while_loop(
                                       [k](auto l, auto) { return l < k; },
                                       [&](auto l, auto u) { return std::tuple{l + 1, tanh(u * x + v)}; }, k * 0, v);
                                   return std::tuple{k + 1, w};
                                 },
                                 constant(g, 0), x);
  auto const [d] = gradients(y, x);
  auto const [dd] = gradients(d, x);
  test::each_execution s(g);
  std::vector<feed> const feeds{{x, tensor(0.4)}};
  expect_differences(s, y, d, feeds, 0);
  expect_differences(s, d, dd, feeds, 0);
}

// In every execution, with passes and without, the derivative is that of the differences, and has the same bits.
void expect_differences_everywhere(graph& g, value y, value dx, std::vector<feed> const& feeds, std::size_t which,
                                   double tolerance = 1e-6) {
  session first(g, {.threads = 1, .execution = execution::sequential});
  expect_differences(first, y, dx, feeds, which, tolerance);
  auto const expected = first.run(feeds, dx);
  for (auto wish : {execution::sequential, execution::automatic, execution::parallel, execution::tagged})
    for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
      session s(g, {.threads = 2, .passes = passes, .execution = wish});
      EXPECT_TRUE(same_bits(s.run(feeds, dx), expected)) << static_cast<int>(wish);
    }
}

TEST(loop_gradient, of_a_variable_that_grows_agrees_with_differences) {
  graph g;
  auto const x = placeholder<double, 3>(g, "x");
  auto const w = placeholder<double>(g, "w");
  auto const n = placeholder<int>(g, "n");
  auto const [i, y] = while_loop([&](auto k, auto) { return k < n; },
                                 [&](auto k, auto v) { return std::tuple{k + 1, concat<0>(tanh(v * v + w), x * w)}; },
                                 constant(g, 0), as<of<double, unknown>>(x));
  auto const total = sum(y * y);
  auto const [dx, dw] = gradients(total, x, w);
  auto const curve = sum(dx * dx) + dw;
  auto const [ddx, ddw] = gradients(curve, x, w);
  for (int times : {0, 1, 4}) {
    std::vector<feed> const feeds{{x, vector<double>({.5, -1, .25})}, {w, tensor(0.75)}, {n, tensor(times)}};
    expect_differences_everywhere(g, total, dx, feeds, 0);
    expect_differences_everywhere(g, total, dw, feeds, 1);
    expect_differences_everywhere(g, curve, ddx, feeds, 0, 1e-5);
    expect_differences_everywhere(g, curve, ddw, feeds, 1, 1e-5);
  }
}

TEST(loop_gradient, of_a_variable_of_which_only_the_run_knows_that_it_grows_agrees_with_differences) {
  graph g;
  auto const x = placeholder<double, unknown>(g, "x"), c = placeholder<double, unknown>(g, "c");
  auto const [n, y] = while_loop([](auto i, auto) { return i < 3; },
                                 [&](auto i, auto v) { return std::tuple{i + 1, as<of<double, unknown>>(v * v + c)}; },
                                 constant(g, 0), x);
  auto const total = sum(y);
  auto const [dx, dc] = gradients(total, x, c);
  for (auto const& fed : {vector<double>({.5}), vector<double>({.5, .25, -1})}) {  // the first grows to three
    std::vector<feed> const feeds{{x, fed}, {c, vector<double>({.1, .2, .3})}};
    expect_differences_everywhere(g, total, dx, feeds, 0, 1e-5);
    expect_differences_everywhere(g, total, dc, feeds, 1, 1e-5);
  }
}

TEST(loop_gradient, keeps_words_that_grow_in_number_or_their_number_alone) {
  auto const run = [](auto const& count, pass_options const& passes) {
    graph g;
    auto const x = placeholder<double>(g, "x");
    auto const word = constant<std::string, 1>(g, {"a word that needs memory of its own"});
    auto const [k, all, y] = while_loop([&](auto i, auto, auto) { return i < 3; },
                                        [&](auto i, auto words, auto v) {
                                          return std::tuple{i + 1, concat<0>(words, word), v * v * count(words, word)};
                                        },
                                        constant(g, 0), as<of<std::string, unknown>>(word), x);
    auto const [dx] = gradients(y, x);
    return double(session(g, {.threads = 1, .passes = passes}).run({{x, tensor(0.5)}}, dx));
  };
  for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {  // y = 12 x⁸
    EXPECT_DOUBLE_EQ(run([](auto words, auto) { return sum(cast<double>(extents_of(words))); }, passes), 0.75);
    EXPECT_DOUBLE_EQ(run([](auto words, auto word) { return sum(cast<double>(words == word)); }, passes), 0.75);
  }
}

TEST(loop_gradient, of_folds_from_either_end_whose_states_grow_agrees_with_differences) {
  graph g;
  auto const x = placeholder<double, "n", 2>(g, "x");
  auto const first = placeholder<double, unknown, 2>(g, "first");
  for (bool right : {false, true}) {
    auto const f = [](auto s, auto row) { return as<of<double, unknown, 2>>(concat<0>(s * row, reshape<1, 2>(row))); };
    auto const y = right ? fold_right(f, first, x) : fold(f, first, x);
    auto const total = sum(y * y);
    auto const [dx, df] = gradients(total, x, first);
    auto const slope = sum(df * df);
    auto const [ddx] = gradients(slope, x);
    std::vector<feed> const feeds{{x, matrix<double>({{1, 2}, {-.5, .5}, {.25, -1}})},
                                  {first, matrix<double>({{.1, -.2}})}};
    expect_differences_everywhere(g, total, dx, feeds, 0, 1e-5);
    expect_differences_everywhere(g, total, df, feeds, 1, 1e-5);
    expect_differences_everywhere(g, slope, ddx, feeds, 0, 1e-5);
  }
}

TEST(loop_gradient, of_growing_loops_within_loops_that_grow_agrees_with_differences) {
  graph g;
  auto const x = placeholder<double, unknown>(g, "x");
  auto const w = placeholder<double>(g, "w");
  auto const grown = [&](auto first, auto count, auto f) {
    return std::get<1>(while_loop([count](auto i, auto) { return i < count; },
                                  [&](auto i, auto v) { return std::tuple{i + 1, as<of<double, unknown>>(f(i, v))}; },
                                  constant(g, 0), first));
  };
  auto const y = grown(x, constant(g, 3), [&](auto i, auto v) {
    auto const inner = grown(v, i, [&](auto, auto u) { return concat<0>(u * u * w, x); });
    return concat<0>(tanh(inner), v);
  });
  auto const rows = map(
      [&](auto e) { return sum(grown(x, constant(g, 2), [&](auto, auto u) { return concat<0>(u * e, tanh(u)); })); },
      x);
  auto const total = sum(y) * w + sum(rows * rows);
  auto const [dx, dw] = gradients(total, x, w);
  auto const [ddw] = gradients(dw, w);
  std::vector<feed> const feeds{{x, vector<double>({.5, -.75})}, {w, tensor(1.25)}};
  expect_differences_everywhere(g, total, dx, feeds, 0, 1e-5);
  expect_differences_everywhere(g, total, dw, feeds, 1, 1e-5);
  expect_differences_everywhere(g, dw, ddw, feeds, 1, 1e-5);
}

TEST(loop_gradient, keeps_rows_of_other_extents_end_to_end) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const x = placeholder<float, 256>(g, "x");
  auto const [i, y] = while_loop([&](auto k, auto) { return k < n; },
                                 [&](auto k, auto v) { return std::tuple{k + 1, concat<0>(tanh(v), x)}; },
                                 constant(g, 0), as<of<float, unknown>>(x));
  auto const [dx] = gradients(sum(y), x);
  tensor const fed(dtype::float32, {256});
  for (int times : {4, 16, 64}) {
    auto const peak = peak_of_a_step(g, n, x, dx, times, fed);
    auto const kept = std::int64_t{times} * (times + 1) / 2 * 1024;
    EXPECT_GE(peak, kept);
    EXPECT_LE(peak, 2 * kept + (times + 8) * 8 * 1024) << "rows come one by one, and are laid then";
  }
}

TEST(loop_gradient, keeps_no_more_of_a_list_that_grows_than_its_extents) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const x = placeholder<float, 256>(g, "x");
  auto const [i, y] = while_loop([&](auto k, auto) { return k < n; },
                                 [&](auto k, auto v) { return std::tuple{k + 1, concat<0>(v, x)}; }, constant(g, 0),
                                 as<of<float, unknown>>(x));
  auto const [dx] = gradients(sum(y * y), x);
  tensor fed(dtype::float32, {256});
  std::fill_n(fed.mutable_data<float>(), 256, 1.f);
  for (int times : {4, 64}) {
    host_memory memory;
    session s(g, {.threads = 1, .memory = &memory});
    for (int k : {0, 1}) {
      memory.reset_peak();
      EXPECT_EQ(s.run({{n, tensor(times)}, {x, fed}}, dx).data<float>()[0], 2.f * float(times + 1)) << k;
    }
    EXPECT_LE(memory.usage().peak, (times + 8) * 10 * 1024);
  }
}

TEST(loop_gradient, of_which_uneven_rows_turn_out_to_be_alike_is_a_loop_like_others) {
  graph g;
  auto const x = placeholder<float, unknown>(g, "x"), c = placeholder<float, unknown>(g, "c");
  auto const y = fold([&](auto v, auto e) { return as<of<float, unknown>>(tanh(v * c + e)); }, x, c);
  auto const [dx] = gradients(sum(y), x);
  auto const three = vector<float>({1, 2, 3});
  session s(g);
  auto const text = s.explain({{x, three}, {c, three}}, dx);
  EXPECT_EQ(text.find("extents_of"), std::string::npos) << text;
  EXPECT_EQ(text.find("deferred"), std::string::npos) << text;
}

TEST(loop_gradient, of_a_body_that_reads_and_updates_a_variable_is_refused) {
  graph g;
  auto const w = variable(constant(g, 0.5f), "w");
  auto const x = placeholder<float, 3>(g, "x");
  auto const y = map(
      [&](auto e) {
        assign_add(w, e);
        return e * w;
      },
      x);
  expect_error(code::unimplemented, "reads and updates a variable", [&] { gradients(sum(y), x); });
}

TEST(loop_gradient, of_an_open_loop_without_iterations_is_what_comes) {
  graph g;
  auto const x = placeholder<double, unknown>(g, "x");
  auto const w = placeholder<double>(g, "w");
  auto const n = placeholder<int>(g, "n");
  auto const [i, y] =
      while_loop([&](auto k, auto) { return k < n; },
                 [&](auto k, auto v) { return std::tuple{k + 1, as<of<double, unknown>>(concat<0>(v * w, v))}; },
                 constant(g, 0), x);
  auto const [dx, dw] = gradients(sum(y * y), x, w);
  for (auto wish : {execution::sequential, execution::automatic, execution::tagged})
    for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
      session s(g, {.threads = 2, .passes = passes, .execution = wish});
      for (int times : {0, 1, 0}) {
        auto const [a, b] = s.run({{x, vector<double>({1, 2})}, {w, tensor(3.)}, {n, tensor(times)}}, dx, dw);
        EXPECT_TRUE(same_bits(a, times == 0 ? vector<double>({2, 4}) : vector<double>({20, 40})));
        EXPECT_EQ(double(b), times == 0 ? 0 : 30);
      }
    }
}

TEST(loop_gradient, keeps_what_the_iterations_took_from_a_queue) {
  for (auto const wish : {execution::sequential, execution::parallel, execution::tagged}) {
    graph g;
    session s(g, {.threads = 1, .execution = wish});
    auto const q = fifo_queue<of<double>>(g, {}, "q");
    auto const x = placeholder<double>(g, "x");
    auto const [k, y] =
        while_loop([](auto i, auto) { return i < 3; },
                   [&](auto i, auto v) { return std::tuple{i + 1, v * v * dequeue(q)}; }, constant(g, 0), x);
    auto const [dx] = gradients(y, x);
    s.run(q.enqueue_many(constant<double, 4>(g, {2, 3, 5, 7})));
    // y = 5 (3 (2 x²)²)² = 720 x⁸
    auto const [value, slope] = s.run({{x, tensor(1.)}}, y, dx, timeout(std::chrono::seconds(20)));
    EXPECT_EQ(double(value), 720);
    EXPECT_EQ(double(slope), 8 * 720);
    EXPECT_EQ(std::int64_t(s.run(q.size())), 1) << "each was taken once";
  }
}

TEST(loop_gradient, is_refused_where_a_branch_takes_from_a_queue_and_says_what_to_do) {
  graph g;
  auto const q = fifo_queue<of<double>>(g, {}, "q");
  auto const x = placeholder<double>(g, "x");
  auto const y = cond(placeholder<bool>(g, "p"), [&] { return x * dequeue(q); }, [&] { return x; });
  auto const text = sentence([&] { gradients(y, x); });
  EXPECT_NE(text.find("unimplemented"), std::string::npos) << text;
  EXPECT_NE(text.find("let it come from outside"), std::string::npos) << text;
}

}  // namespace
}  // namespace rill
