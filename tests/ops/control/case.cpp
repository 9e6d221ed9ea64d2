#include "rill/ops/control/case.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/sentence.hpp"
#include "ops/executions.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(case_, runs_the_branch_that_is_numbered_and_the_last_for_others) {
  graph g;
  auto const i = placeholder<std::int32_t>(g, "i");
  auto const x = placeholder<float>(g, "x");
  auto const runs = variable(constant(g, 0.f), "runs");
  auto const y = case_(
      i,
      [&] {
        assign_add(runs, constant(g, 1.f));
        return x * 2.f;
      },
      [&] { return x * x; }, [&] { return -x; });
  auto const [dx] = gradients(y, x);
  session s(g);
  s.run(initializer(g));
  std::pair<float, float> const wanted[] = {{6, 2}, {9, 6}, {-3, -1}, {-3, -1}};
  for (int k = 0; k < 4; ++k) {
    auto const [got, slope] = s.run({{i, tensor(k)}, {x, tensor(3.f)}}, y, dx);
    EXPECT_EQ(float(got), wanted[k].first);
    EXPECT_EQ(float(slope), wanted[k].second);
  }
  EXPECT_EQ(float(s.run({{i, tensor(-1)}, {x, tensor(3.f)}}, y)), -3.f);
  EXPECT_EQ(float(s.run(runs)), 1.f);  // once, though its derivative was computed too
}

TEST(case_, an_error_says_in_which_branch_which_iterations_and_at_which_node) {
  graph g;
  auto const i = placeholder<std::int32_t>(g, "i");
  auto const x = placeholder<float>(g, "x");
  auto const loops = [&] {
    auto const outer = [&](auto k, auto v) {
      auto const inner = [&](auto m, auto u) {
        return std::tuple{m + 1, check_numerics(u + constant(g, 1.f) / cast<float>(m * k - 7), "division")};
      };
      return std::tuple{k + 1, std::get<1>(while_loop([](auto m, auto) { return m < 10; }, inner, constant(g, 0), v))};
    };
    return std::get<1>(while_loop([](auto k, auto) { return k < 3; }, outer, constant(g, 0), x));
  };
  auto const choose = [&] {
    return case_(
        i, [&] { return check_numerics(log(x), "first"); }, loops, [&] { return check_numerics(log(x), "third"); },
        [&] { return check_numerics(sqrt(x), "last"); });
  };
  auto const alone = choose();
  auto const mapped = map([&](auto row) { return choose() + row; }, constant<float, 1>(g, {1}));
  for (auto wish : {execution::sequential, execution::automatic, execution::parallel, execution::tagged}) {
    session s(g, {.threads = 2, .execution = wish});
    auto const says = [&](int branch, std::string_view words) {
      std::vector<feed> const feeds{{i, tensor(branch)}, {x, tensor(-1.f)}};
      auto const text = sentence([&] { s.run(feeds, alone); });
      EXPECT_TRUE(text.starts_with("invalid_argument: node 'case': " + std::string(words))) << text;
      auto const inner = sentence([&] { s.run(feeds, mapped); });
      EXPECT_NE(inner.find("node 'loop': in iteration 0, node 'body/case': in branch " + std::to_string(branch)),
                std::string::npos)
          << inner;
      EXPECT_EQ(inner.find("in the branch for"), std::string::npos) << inner;
    };
    says(0, "in branch 0, node 'then/check_numerics': first has a NaN");
    says(1,
         "in branch 1, node 'otherwise/then/loop': in iteration 1, node 'otherwise/then/body/loop': in iteration 7, "
         "node 'otherwise/then/body/body/check_numerics': division has an infinity");
    says(2, "in branch 2, node 'otherwise/otherwise/then/check_numerics': third has a NaN");
    says(3, "in branch 3, node 'otherwise/otherwise/otherwise/check_numerics': last has a NaN");
  }
}

TEST(case_, its_derivative_and_its_bytes_keep_the_numbers) {
  graph g;
  auto const i = placeholder<std::int32_t>(g, "i");
  auto const x = placeholder<float>(g, "x");
  auto const checked = [&] { return check_numerics(x * x, "square") * x; };  // its derivative reads the square
  auto const y = case_(i, [&] { return x; }, checked, checked);
  auto const [dx] = gradients(y, x);
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  for (graph* each : {&g, again.get()}) {
    session s(*each);
    for (auto [branch, words] : {std::pair{1, "in branch 1, node "}, {2, "in branch 2, node "}}) {
      std::vector<feed> const feeds{{each->find("i"), tensor(branch)},
                                    {each->find("x"), tensor(std::numeric_limits<float>::infinity())}};
      auto const text = sentence([&] { s.run(feeds, each->find(dx.name())); });
      EXPECT_NE(text.find(words), std::string::npos) << text;
      EXPECT_EQ(text.find("in the branch for"), std::string::npos) << text;
    }
  }
}

TEST(case_, by_predicates_runs_the_branch_of_the_first_that_is_true) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const runs = variable(constant(g, 0.f), "runs");
  auto const y = case_(std::pair{x < 0.f, [&] { return -x; }},
                       std::pair{x < 1.f,
                                 [&] {
                                   assign_add(runs, constant(g, 1.f));
                                   return x * x;
                                 }},
                       std::pair{x < 2.f, [&] { return x * 3.f; }}, [&] { return x + 10.f; });
  static_assert(std::same_as<decltype(y), expr<of<float>> const>);
  auto const [dx] = gradients(y, x);
  for (auto wish : test::all_executions) {
    session s(g, {.threads = 2, .execution = wish});
    s.run(initializer(g));
    for (auto const& [at, value, slope] :
         {std::array{-3.f, 3.f, -1.f}, {0.5f, 0.25f, 1.f}, {1.5f, 4.5f, 3.f}, {4.f, 14.f, 1.f}}) {
      auto const [got, d] = s.run({{x, tensor(at)}}, y, dx);
      EXPECT_EQ(float(got), value);
      EXPECT_EQ(float(d), slope);
    }
    EXPECT_EQ(float(s.run(runs)), 1.f) << "only the branch that is chosen updates";
  }
}

TEST(case_, by_predicates_returns_tuples_and_takes_erased_handles) {
  graph g;
  value const p = placeholder(g, of<bool>, "p"), q = placeholder(g, of<bool>, "q");
  auto const a = constant<float, 2>(g, {1, 2});
  auto const [first, second] =
      case_(std::pair{p, [&] { return std::tuple{a, sum(a)}; }},
            std::pair{q, [&] { return std::tuple{a * 2.f, sum(a * 2.f)}; }}, [&] { return std::tuple{-a, sum(-a)}; });
  session s(g);
  for (auto const& [one, other, wanted] :
       {std::tuple{true, true, 3.f}, {true, false, 3.f}, {false, true, 6.f}, {false, false, -3.f}}) {
    auto const [x, y] = s.run({{p, tensor(one)}, {q, tensor(other)}}, first, second);
    EXPECT_EQ(x.data<float>()[0] + x.data<float>()[1], wanted);
    EXPECT_EQ(float(y), wanted);
  }
}

TEST(case_, by_exclusive_predicates_fails_if_several_are_true) {
  graph g;
  auto const p = placeholder<bool>(g, "p"), q = placeholder<bool>(g, "q");
  auto const x = constant(g, 1.f);
  auto const branch = [&](float by) { return [&x, by] { return x * by; }; };
  auto const y = case_(std::pair{p, branch(2)}, std::pair{q, branch(3)}, branch(4), exclusive);
  auto const rows =
      map([&](auto row) { return row * case_(std::pair{p, branch(2)}, std::pair{q, branch(3)}, branch(4), exclusive); },
          constant<float, 2>(g, {1, 2}));
  test::each_execution s(g);
  auto const run = [&](bool one, bool other) { return float(s.run({{p, tensor(one)}, {q, tensor(other)}}, y)); };
  EXPECT_EQ(run(true, false), 2);
  EXPECT_EQ(run(false, true), 3);
  EXPECT_EQ(run(false, false), 4);
  EXPECT_NE(
      sentence([&] { run(true, true); }).find("case_: several predicates are true, and they were said to be exclusive"),
      std::string::npos);
  EXPECT_EQ(refusal([&] { s.run({{p, tensor(true)}, {q, tensor(true)}}, rows); }), code::failed_precondition);
  EXPECT_TRUE(same_bits(s.run({{p, tensor(false)}, {q, tensor(true)}}, rows), vector<float>({3, 6})));
}

TEST(case_, an_error_of_a_branch_by_predicates_says_which) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = case_(std::pair{x < -1.f, [&] { return check_numerics(log(x), "low"); }},
                       std::pair{x < 0.f, [&] { return check_numerics(sqrt(x), "middle"); }}, [&] { return x; });
  session s(g);
  EXPECT_NE(sentence([&] { s.run({{x, tensor(-2.f)}}, y); }).find("in branch 0"), std::string::npos);
  EXPECT_NE(sentence([&] { s.run({{x, tensor(-0.5f)}}, y); }).find("in branch 1"), std::string::npos);
}

}  // namespace
}  // namespace rill
