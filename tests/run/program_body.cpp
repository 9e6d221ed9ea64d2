#include "rill/run/program_body.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <tuple>

#include "base/sentence.hpp"
#include "pass/subgraphs.hpp"
#include "rill/rill.hpp"
#include "run/late_at.hpp"

namespace rill {
namespace {

using detail::program_of;

TEST(program_body, is_what_computes_with_single_numbers_alone) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = placeholder<float, 1>(g, "y");
  auto const p = program_of(part_of(g, {identity(tanh(x) * 2.f), y + x, x}, {}, {x, y}));
  ASSERT_TRUE(p);
  verify(*p);
  EXPECT_EQ(p->instructions.size(), 3u);
  EXPECT_EQ(p->immediates.size(), 1u);
  EXPECT_EQ(p->outputs[2], 0);
}

TEST(program_body, is_not_what_does_anything_else_or_nothing) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = placeholder<float, 2>(g, "v");
  auto const none = placeholder<float, 0>(g, "none");
  auto const s = placeholder<std::string>(g, "s");
  auto const w = variable(constant(g, 1.f), "w");
  auto const in = [&](std::vector<value> const& out) { return program_of(part_of(g, out, {}, {x, v, none, s})); };
  EXPECT_FALSE(in({x + 1.f}));  // for the other inputs are more than a number, and a string
  EXPECT_FALSE(program_of(part_of(g, {x}, {}, {x})));
  EXPECT_FALSE(program_of(part_of(g, {v + x}, {}, {x, v})));
  EXPECT_FALSE(program_of(part_of(g, {none + x}, {}, {x, none})));
  EXPECT_FALSE(program_of(part_of(g, {equal(s, s)}, {}, {s})));
  EXPECT_FALSE(program_of(part_of(g, {x + w}, {}, {x})));
  EXPECT_FALSE(program_of(part_of(g, {check_numerics(x, "x") + 1.f}, {}, {x})));
  EXPECT_FALSE(program_of(part_of(g, {x + 1.f}, {no_op(g)}, {x})));
}

// A session in which bodies are plans, and one in which they are programs where they can be.
template <class... X> void agree(graph& g, std::vector<feed> const& fed, X const&... fetched) {
  session plans(g, {.threads = 1, .passes = pass_options::none()}), programs(g, {.threads = 1});
  auto const list = [](auto const&... each) { return std::vector<tensor>{tensor(each)...}; };
  auto const all = [&](session& s) {
    if constexpr (sizeof...(X) == 1) return list(s.run(fed, fetched...));
    else return std::apply(list, s.run(fed, fetched...));
  };
  auto const wanted = all(plans), got = all(programs);
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(same_bits(got[i], wanted[i])) << i;
}

TEST(program_body, gives_the_bits_of_the_plan_for_loops_of_any_number_of_iterations) {
  graph g;
  auto const limit = placeholder<std::int32_t>(g, "limit");
  auto const w = placeholder<float>(g, "w");
  auto const [i, x, y, kept, constant_after, odd] = while_loop(
      [&](auto k, auto...) { return k < limit; },
      [&](auto k, auto u, auto v, auto same, auto, auto is_odd) {
        auto const a = tanh(u * w) + v;
        return std::tuple{k + 1, v, select(is_odd, a, exp(-a)), same, constant(g, 5.0), ~is_odd};
      },
      constant(g, 0), constant(g, 1.f), constant(g, 2.f), constant(g, 3.f), constant(g, 4.0), constant(g, false));
  for (int n : {0, 1, 2, 3, 4, 5, 50, 201})
    agree(g, {{limit, tensor(n)}, {w, tensor(0.7f)}}, i, x, y, kept, constant_after, odd);
}

template <class T> void count(T by) {
  graph g;
  auto const [i, x, two] =
      while_loop([](auto k, auto, auto) { return k < 9; },
                 [&](auto k, auto v, auto twice) { return std::tuple{k + 1, v * twice + v, twice}; }, constant(g, 0),
                 placeholder_with_default(constant(g, by)), placeholder_with_default(constant(g, T(2))));
  agree(g, {}, i, x, two);
}

TEST(program_body, computes_in_every_width) {
  count<std::int8_t>(3);
  count<std::uint16_t>(3);
  count<half>(half(0.25f));
  count<std::int64_t>(3);
  count<double>(0.3);
  count<std::complex<float>>({0.25f, 1});
  count<std::complex<double>>({0.25, 1});
}

TEST(program_body, takes_and_makes_rows_and_is_differentiated) {
  graph g;
  auto const rows = placeholder<float, 6>(g, "rows");
  auto const w = placeholder<float>(g, "w");
  auto const made = scan([&](auto s, auto x) { return tanh(s * w + x); }, constant(g, 0.5f), rows);
  auto const each = map([&](auto x) { return x * w + 1.f; }, rows);
  auto const [i, x] = while_loop([](auto k, auto) { return k < 5; },
                                 [&](auto k, auto v) { return std::tuple{k + 1, exp(v * w) - v}; }, constant(g, 0), w);
  auto const slope = gradients(sum(made) + x, {value(w), value(rows)});
  agree(g, {{rows, vector<float>({1, -2, 3, 0.5f, 0, 7})}, {w, tensor(0.3f)}}, made, each, value(x), slope[0],
        slope[1]);
}

TEST(program_body, stands_in_branches_and_functions_too) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = cond(
      x < 1.f, [&] { return std::tuple{x * 2.f, x, x * 2.f}; },
      [&] { return std::tuple{constant(g, 1.f), x - 1.f, x}; });
  for (float v : {0.f, 2.f}) agree(g, {{x, tensor(v)}}, std::get<0>(y), std::get<1>(y), std::get<2>(y));
}

TEST(program_body, is_told_to_an_observer_once_a_run_by_the_name_of_its_last_node) {
  struct recorder final : observer {
    void node_ran(node_record const& r) override {
      if (r.operation == "fused") ++times, name = r.name;
    }
    int times = 0;
    std::string name;
  } seen;
  graph g;
  auto const n =
      while_loop([](auto i) { return i < 7; }, [](auto i) { return i + 1; }, placeholder_with_default(constant(g, 0)));
  session s(g, {.threads = 1});
  s.run(n, observe(seen));
  EXPECT_EQ(seen.times, 8);  // the condition, and seven times the body and the condition after it
  EXPECT_EQ(seen.name, "condition/less");
}

TEST(program_body, an_endless_loop_of_it_ends_in_an_iteration_that_the_error_names) {
  graph g;
  auto const n = while_loop([](auto x) { return x > -1.f; }, [](auto x) { return x - x * 0.5f; },
                            placeholder_with_default(constant(g, 1.f)));
  session s(g, {.threads = 1});
  auto const text = test::late_at("in iteration ", [&](timeout time) { s.run(n, time); });
  EXPECT_NE(text.find("in iteration "), std::string::npos) << text;
  EXPECT_NE(text.find("deadline"), std::string::npos) << text;
}

}  // namespace
}  // namespace rill
