#include "rill/ops/control/cond.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "base/sentence.hpp"
#include "ops/executions.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(cond, computes_the_branch_that_the_predicate_names) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = cond(constant(g, 0.f) < x, [&] { return log(x); }, [&] { return x * 0.f; });
  static_assert(decltype(y)::static_type == of<float>);
  session s(g);
  EXPECT_FLOAT_EQ(float(s.run({{x, tensor(2.f)}}, y)), std::log(2.f));
  EXPECT_EQ(float(s.run({{x, tensor(-2.f)}}, y)), 0);
}

TEST(cond, sees_what_is_fed_for_values_from_outside_and_reads_variables_by_itself) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const p = placeholder<bool>(g, "p");
  auto const outside = identity(v), doubled = v * 2.f;
  auto const y = cond(
      p, [&] { return std::tuple{v + 0.f, outside + 0.f, doubled + 0.f}; },
      [&] { return std::tuple{v + 0.f, v + 0.f, v + 0.f}; });
  auto const [own, seen, twice] = y;
  session s(g);
  s.run(initializer(g));
  auto const [a, b, c] = s.run({{p, tensor(true)}, {v, tensor(10.f)}}, own, seen, twice);
  EXPECT_EQ(float(a), 1) << "a read inside is of the variable";
  EXPECT_EQ(float(b), 10);
  EXPECT_EQ(float(c), 20);
  EXPECT_EQ(float(s.run({{p, tensor(true)}, {outside, tensor(5.f)}}, seen)), 5);
}

TEST(cond, returns_several_values_or_values_from_outside) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const a = placeholder<float, 2>(g, "a"), b = constant<float, 2>(g, {5, 6});
  auto const [first, second] = cond(p, [&] { return std::tuple{a, b}; }, [&] { return std::tuple{b, exp(a * 0.f)}; });
  session s(g);
  auto const fed = vector<float>({1, 2});
  for (bool which : {true, false}) {
    auto const [x, y] = s.run({{p, tensor(which)}, {a, fed}}, first, second);
    EXPECT_TRUE(same_bits(x, which ? tensor(fed) : tensor(vector<float>({5, 6}))));
    EXPECT_TRUE(same_bits(y, which ? vector<float>({5, 6}) : vector<float>({1, 1})));
  }
}

TEST(cond, makes_the_updates_of_the_branch_that_runs_and_of_no_other_in_order) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const v = variable(constant(g, 1.f), "v");
  auto const done = cond(
      p,
      [&] {
        assign_add(v, constant(g, 1.f));
        assign(v, v * 10.f);
      },
      [&] { assign(v, constant(g, -1.f)); });
  session s(g);
  s.run(initializer(g));
  s.run({{p, tensor(true)}}, done);
  EXPECT_EQ(s.state().variable("v", of<float>)->read().at<float>(), 10);  // v is read once, as the branch begins
  s.run({{p, tensor(false)}}, done);
  EXPECT_EQ(s.state().variable("v", of<float>)->read().at<float>(), -1);
}

TEST(cond, reads_outside_of_it_see_the_variable_as_the_step_found_it) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const done = cond(constant(g, true), [&] { assign(v, constant(g, 2.f)); }, [] {});
  value const twice = v * 2.f;
  value const after = g.after({done}, [&] { return read(v); });
  session s(g);
  s.run(initializer(g));
  auto const [before, now] = s.run(twice, after, done);
  EXPECT_EQ(before.at<float>(), 2);
  EXPECT_EQ(now.at<float>(), 2);
  EXPECT_EQ(s.run(twice).at<float>(), 4);
}

TEST(cond, two_that_update_one_variable_need_an_order) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const make = [&] { return cond(constant(g, true), [&] { assign_add(v, constant(g, 2.f)); }, [] {}); };
  auto const a = make(), b = make();
  auto const c = g.after({a}, make);
  session s(g);
  s.run(initializer(g));
  EXPECT_NE(sentence([&] { s.run(a, b); }).find("have no order"), std::string::npos);
  s.run(a, c);
  EXPECT_EQ(s.run(value(v)).at<float>(), 5);
}

TEST(cond, nests_and_takes_values_through_both_bodies) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const zero = constant(g, 0.f), ten = constant(g, 10.f);
  auto const y = cond(
      zero < x, [&] { return cond(ten < x, [&] { return ten + 1.f; }, [&] { return x * x; }); }, [&] { return zero; });
  session s(g);
  EXPECT_EQ(float(s.run({{x, tensor(20.f)}}, y)), 11);
  EXPECT_EQ(float(s.run({{x, tensor(3.f)}}, y)), 9);
  EXPECT_EQ(float(s.run({{x, tensor(-3.f)}}, y)), 0);
}

TEST(cond, an_outside_operation_that_a_body_waits_on_runs_once_whichever_branch_is_taken) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const count = variable(constant(g, 0.f), "count");
  auto const counted = assign_add(count, constant(g, 1.f));
  auto const y =
      cond(p, [&] { return g.after({counted}, [&] { return constant(g, 1.f); }); }, [&] { return constant(g, 2.f); });
  session s(g);
  s.run(initializer(g));
  for (bool which : {true, false}) s.run({{p, tensor(which)}}, y);
  EXPECT_EQ(s.run(value(count)).at<float>(), 2);
}

TEST(cond, does_not_wait_for_what_only_an_unused_node_of_a_branch_is_to_come_after) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const x = placeholder<float>(g, "x"), never_fed = placeholder<float>(g, "never_fed");
  auto const y = cond(
      p,
      [&] {
        g.after({operation(never_fed)}, [&] { return x * 2.f; });
        return x + 1.f;
      },
      [&] { return x; });
  test::each_execution s(g);
  EXPECT_EQ(float(s.run({{p, tensor(true)}, {x, tensor(2.f)}}, y)), 3);
}

// The constant is read by who reads the variable, and comes after its update.
TEST(cond, keeps_the_order_that_goes_through_a_constant_of_a_branch) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const v = variable(constant(g, 1.f), "v");
  auto const y = cond(
      p,
      [&] {
        auto const update = assign(v, constant(g, 5.f));
        auto const one = g.after({update}, [&] { return constant(g, 1.f); });
        return g.after({operation(one)}, [&] { return read(v); }) +
               cast<float>(gather(stack(one, one), constant(g, 0)));
      },
      [&] { return constant(g, 0.f); });
  test::each_execution s(g);
  s.run(initializer(g));
  EXPECT_EQ(float(s.run({{p, tensor(true)}}, y)), 6);
}

TEST(cond, needs_nothing_that_its_branches_mention_and_do_not_use) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const x = placeholder<float>(g, "x"), y = placeholder<float>(g, "y");
  auto const made = cond(
      p,
      [&] {
        neg(y);
        return x;
      },
      [&] { return -x; });
  session s(g);
  EXPECT_EQ(float(s.run({{p, tensor(true)}, {x, tensor(2.f)}}, made)), 2);
}

TEST(cond, an_error_says_in_which_branch_and_at_which_node) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y =
      cond(constant(g, false), [&] { return x; }, [&] { return check_numerics(log(x), "the logarithm is bad"); });
  session s(g);
  auto const text = sentence([&] { s.run({{x, tensor(-1.f)}}, y); });
  EXPECT_NE(text.find("in the branch for false, node 'otherwise/check_numerics': "), std::string::npos) << text;
  EXPECT_NE(text.find("node 'cond'"), std::string::npos) << text;
  EXPECT_EQ(float(s.run({{x, tensor(1.f)}}, y)), 0);
}

TEST(cond, refuses_handles_that_leak_out_of_a_body) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto leaked = neg(x);
  auto const y = cond(constant(g, true), [&] { return leaked = exp(x); }, [&] { return x; });
  EXPECT_NE(sentence([&] { add(value(leaked), value(x)); }).find("a value from inside the body 'then/'"),
            std::string::npos);
  EXPECT_NE(sentence([&] { add(value(x), value(leaked)); }).find("let the body return it"), std::string::npos);
  session s(g);
  EXPECT_NE(sentence([&] { s.run({{x, tensor(1.f)}}, leaked); }).find("lies inside a loop or a branch"),
            std::string::npos);
  EXPECT_FLOAT_EQ(float(s.run({{x, tensor(1.f)}}, y)), std::exp(1.f));
}

TEST(cond, refuses_predicates_and_branches_that_do_not_fit) {
  graph g;
  value const x = placeholder(g, of<float, 2>, "x"), p = placeholder(g, of<bool>, "p");
  auto const branch = [&](value predicate, value a, value b) {
    return sentence([&] { cond(predicate, [&] { return a; }, [&] { return b; }); });
  };
  EXPECT_NE(branch(x, x, x).find("the predicate must be a scalar of bool"), std::string::npos);
  EXPECT_NE(branch(p, x, p).find("the branches must return values of the same types"), std::string::npos);
  EXPECT_EQ(branch(p, x, x), "");
}

TEST(cond, refuses_a_variable_that_is_made_inside_and_leaves_the_graph_usable) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  EXPECT_NE(sentence([&] {
              cond(constant(g, true), [&] { return variable(x, "v") + 1.f; }, [&] { return x; });
            }).find("make it outside"),
            std::string::npos);
  session s(g);
  EXPECT_EQ(float(s.run({{x, tensor(1.f)}}, neg(x))), -1);
}

TEST(cond, travels_as_bytes) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 3.f), "v");
  auto const y = cond(
      constant(g, 0.f) < x, [&] { return v * x; }, [&] { return cond(x < v, [&] { return v; }, [&] { return x; }); });
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  session s(*again), first(g);
  s.run(initializer(*again)), first.run(initializer(g));
  for (float fed : {2.f, -2.f})
    EXPECT_TRUE(same_bits(s.run({{"x", tensor(fed)}}, {y.name()})[0], first.run({{x, tensor(fed)}}, y)));
  EXPECT_EQ(to_bytes(*again), to_bytes(g));
}

TEST(cond, travels_as_bytes_only_as_deep_as_it_is_read) {
  for (int depth : {16, 17}) {
    graph g;
    auto const p = placeholder<bool>(g, "p");
    auto const x = placeholder<float>(g, "x");
    std::function<expr<of<float>>(int)> const nested = [&](int n) -> expr<of<float>> {
      if (n == 0) return -x;
      return cond(p, [&] { return nested(n - 1); }, [&] { return x; });
    };
    auto const y = nested(depth);
    session s(g);
    EXPECT_EQ(float(s.run({{p, tensor(true)}, {x, tensor(2.f)}}, y)), -2);
    auto const text = sentence([&] { graph_from_bytes(to_bytes(g), all_operations()); });
    EXPECT_EQ(text, depth == 16
                        ? ""
                        : "invalid_argument: a graph whose bodies lie more than 16 deep can't be written as bytes");
  }
}

TEST(cond, with_any_bit_of_its_bytes_changed_is_read_or_refused) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  cond(constant(g, 0.f) < x, [&] { return exp(x); }, [&] { return x; });
  auto const bytes = to_bytes(g);
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    try {
      graph_from_bytes(changed, all_operations());
    } catch (error const&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, bytes.size());
}

TEST(cond, differentiates_as_the_branch_that_is_taken_again_and_again) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const w = variable(constant(g, 3.), "w");
  auto const y = cond(
      constant(g, 0.) < x, [&] { return w * x * x * x; },
      [&] { return cond(x < constant(g, -10.), [&] { return constant(g, 7.); }, [&] { return exp(x) + w * w; }); });
  auto const [dx, dw] = gradients(y * 2., x, w);
  auto const [ddx] = gradients(dx, x);
  session s(g);
  s.run(initializer(g));
  auto const at = [&](double v) {
    auto const [a, b, c] = s.run({{x, tensor(v)}}, dx, dw, ddx);
    return std::vector<double>{double(a), double(b), double(c)};
  };
  EXPECT_EQ(at(2.), std::vector<double>({72, 16, 72}));
  EXPECT_EQ(at(-11.), std::vector<double>({0, 0, 0}));
  auto const e = 2 * std::exp(-1.);
  EXPECT_DOUBLE_EQ(at(-1.)[0], e);
  EXPECT_EQ(at(-1.)[1], 12);
  EXPECT_DOUBLE_EQ(at(-1.)[2], e);
}

TEST(cond, differentiates_by_the_rules_that_were_given_for_what_is_in_it) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const tenfold = [](std::vector<value> const&, value, value dy) {
    return std::vector<value>{mul(dy, value(constant(*dy.graph, 10.f)))};
  };
  auto const make = [&] { return cond(constant(g, true), [&] { return exp(x); }, [&] { return x; }); };
  auto const y = g.with_gradient("exp", tenfold, make);
  auto const [given] = gradients(y, x);
  auto const [own] = gradients(make(), x);
  session s(g);
  auto const [a, b] = s.run({{x, tensor(0.f)}}, given, own);
  EXPECT_EQ(float(a), 10);
  EXPECT_EQ(float(b), 1);
}

TEST(cond, a_path_through_stop_gradient_alone_is_no_path) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const p = placeholder<bool>(g, "p");
  auto const y = cond(p, [&] { return stop_gradient(x) * 2.f; }, [&] { return constant(g, 1.f); });
  EXPECT_FALSE(partial_gradients(y, {x})[0]);
  EXPECT_EQ(refusal([&] { gradients(y, x); }), code::invalid_argument);
}

TEST(cond, has_a_path_where_one_branch_has_one_and_zeros_in_the_other) {
  graph g;
  auto const x = placeholder<float>(g, "x"), z = placeholder<float>(g, "z");
  auto const p = placeholder<bool>(g, "p");
  auto const [a, b] =
      cond(p, [&] { return std::tuple{x * 3.f, z * 5.f}; }, [&] { return std::tuple{stop_gradient(x), z * z}; });
  EXPECT_FALSE(partial_gradients(a, {z})[0]);
  EXPECT_FALSE(partial_gradients(b, {x})[0]);
  auto const [dx] = gradients(a, x);
  auto const [dz] = gradients(b, z);
  session s(g);
  for (bool const taken : {true, false}) {
    auto const [first, second] = s.run({{p, tensor(taken)}, {x, tensor(1.f)}, {z, tensor(2.f)}}, dx, dz);
    EXPECT_EQ(float(first), taken ? 3 : 0);
    EXPECT_EQ(float(second), taken ? 5 : 4);
  }
}

TEST(cond, whose_body_reads_and_updates_a_variable_has_no_gradient_and_says_so) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const y = cond(
      constant(g, true),
      [&] {
        auto const now = v * 2.f;
        assign(v, now);
        return now;
      },
      [&] { return constant(g, 0.f); });
  EXPECT_NE(sentence([&] { gradients(y, v); }).find("reads and updates a variable, here 'v', has no gradient"),
            std::string::npos);
}

TEST(cond, whose_branches_return_other_extents_brings_those_of_the_one_that_runs) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const x = placeholder<float, unknown>(g, "x");
  auto const [y, sign] = cond(
      p, [&] { return std::tuple{concat<0>(x, x), constant(g, 1)}; }, [&] { return std::tuple{x, constant(g, -1)}; });
  auto const total = sum(y * y);
  auto const [dx] = gradients(total, x);
  for (auto wish : {execution::sequential, execution::automatic, execution::tagged})
    for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
      session s(g, {.threads = 2, .passes = passes, .execution = wish});
      for (bool verdict : {true, false, true}) {
        auto const [v, k, t, d] = s.run({{p, tensor(verdict)}, {x, vector<float>({1, 2})}}, y, sign, total, dx);
        EXPECT_TRUE(same_bits(v, verdict ? vector<float>({1, 2, 1, 2}) : vector<float>({1, 2})));
        EXPECT_EQ(std::int32_t(k), verdict ? 1 : -1);
        EXPECT_EQ(float(t), verdict ? 10 : 5);
        EXPECT_TRUE(same_bits(d, verdict ? vector<float>({4, 8}) : vector<float>({2, 4})));
      }
    }
}

TEST(cond, may_settle_extents_within_and_differentiates_through_them) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const x = placeholder<float, 4>(g, "x");
  auto const some = [&] { return gather(x, where(x > 0.f)); };
  auto const y = cond(p, [&] { return sum(some() * some() * some()); }, [&] { return sum(x); });
  auto const kept = cond(p, some, [&] { return gather(x, where(x < 0.f)); });
  auto const z = y + sum(exp(kept) * 0.f) + sum(kept * 2.f);
  auto const [dx] = gradients(z, x);
  for (auto wish : {execution::sequential, execution::automatic, execution::tagged}) {
    session s(g, {.threads = 1, .execution = wish});
    auto const run = [&](bool verdict) {
      return s.run({{p, tensor(verdict)}, {x, vector<float>({1, -1, 2, -2})}}, kept, y, dx);
    };
    auto const [some_kept, cubes, d] = run(true);
    EXPECT_TRUE(same_bits(some_kept, vector<float>({1, 2})));
    EXPECT_EQ(float(cubes), 9);
    EXPECT_TRUE(same_bits(d, vector<float>({5, 0, 14, 0})));
    auto const [others, total, e] = run(false);
    EXPECT_TRUE(same_bits(others, vector<float>({-1, -2})));
    EXPECT_EQ(float(total), 0);
    EXPECT_TRUE(same_bits(e, vector<float>({1, 3, 1, 3})));
  }
}

TEST(cond, a_branch_that_is_not_for_the_extents_that_came_is_an_error_where_it_runs_alone) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const x = placeholder<float, unknown>(g, "x");
  auto const y = cond(p, [&] { return sum(x + constant<float, 3>(g, {1, 1, 1})); }, [&] { return sum(x); });
  for (auto wish : {execution::sequential, execution::automatic, execution::tagged}) {
    session s(g, {.threads = 1, .execution = wish});
    EXPECT_EQ(float(s.run({{p, tensor(true)}, {x, vector<float>({1, 2, 3})}}, y)), 9);
    EXPECT_EQ(float(s.run({{p, tensor(false)}, {x, vector<float>({1, 2})}}, y)), 3);
    auto const text = sentence([&] { s.run({{p, tensor(true)}, {x, vector<float>({1, 2})}}, y); });
    EXPECT_NE(text.find("in the branch for true, node 'then/add'"), std::string::npos) << text;
    EXPECT_NE(text.find("do not broadcast"), std::string::npos) << text;
  }
}

TEST(cond, an_error_in_what_waits_for_extents_says_in_which_branch_and_at_which_node) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const y = cond(
      constant(g, true), [&] { return sum(check_numerics(log(gather(x, where(x < 1.f))), "no logarithm")); },
      [&] { return sum(x); });
  session s(g);
  EXPECT_EQ(float(s.run({{x, vector<float>({1, 2})}}, y)), 0);
  auto const text = sentence([&] { s.run({{x, vector<float>({-1, 2})}}, y); });
  EXPECT_NE(text.find("in the branch for true, node 'then/check_numerics': no logarithm"), std::string::npos) << text;
}

// Of kernels in the bodies of a branch's derivative: those that make zeros, and those of exp.
struct branch_kernels final : observer {
  std::atomic<int> zeros = 0, exps = 0;
  void node_ran(node_record const& r) override {
    if (r.name.find("gradient/") == r.name.npos && r.name.find("gradient_1/") == r.name.npos) return;
    zeros += r.operation == "broadcast_like";
    exps += r.operation == "exp";
  }
};

TEST(cond, the_zero_of_a_branch_is_made_only_where_that_branch_was_not_taken) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const many = placeholder<bool, 5>(g, "many");
  auto const x = placeholder<float, 2>(g, "x"), w = placeholder<float, 2>(g, "w");
  auto const choose = [&](auto q) { return cond(q, [&] { return exp(x) * w; }, [&] { return w * w; }); };
  auto const [dx] = gradients(sum(choose(p)), x);
  auto const [dw] = gradients(sum(choose(p)), w);  // which both branches use
  auto const [all] = gradients(sum(map(choose, many)), x);
  auto const ran = [&](execution wish, auto const& fetched, std::vector<feed> feeds) {
    feeds.insert(feeds.end(), {{x, vector<float>({1, 2})}, {w, vector<float>({3, 4})}});
    branch_kernels seen;
    session s(g, {.threads = 1, .passes = pass_options::none(), .execution = wish});
    s.run(feeds, fetched, observe(seen));
    return std::pair{seen.zeros.load(), seen.exps.load()};
  };
  for (auto wish : test::all_executions) {
    EXPECT_EQ(ran(wish, dx, {{p, tensor(true)}}), std::pair(0, 1)) << static_cast<int>(wish);
    EXPECT_EQ(ran(wish, dx, {{p, tensor(false)}}), std::pair(1, 0)) << static_cast<int>(wish);
    EXPECT_EQ(ran(wish, dw, {{p, tensor(true)}}), std::pair(0, 1)) << static_cast<int>(wish);
    EXPECT_EQ(ran(wish, dw, {{p, tensor(false)}}), std::pair(0, 0)) << static_cast<int>(wish);
    EXPECT_EQ(ran(wish, all, {{many, vector<bool>({true, false, true, true, false})}}), std::pair(2, 3))
        << static_cast<int>(wish);
  }
}

TEST(cond, returns_strings_that_it_is_given_holds_or_makes) {
  std::string const far(40, 'f'), near(40, 'n');  // too long to lie in the string itself
  graph g;
  auto const i = placeholder<std::int32_t>(g, "i");
  auto const x = placeholder<std::string>(g, "x");
  auto const words = placeholder<std::string, 2>(g, "words");
  auto const y = case_(i, [&] { return x; }, [&] { return constant(g, far); }, [&] { return gather(words, i - 2); });
  auto const both = cond(i < 1, [&] { return std::tuple{x, x}; }, [&] { return std::tuple{y, x}; });
  auto const [a, b] = both;
  for (auto wish : {execution::sequential, execution::automatic, execution::tagged})
    for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
      session s(g, {.threads = 2, .passes = passes, .execution = wish});
      for (int round = 0; round < 2; ++round) {
        std::string const wanted[] = {"short", far, near, ""};
        for (int k = 0; k < 4; ++k) {
          auto const [got, first, second] = s.run(
              {{i, tensor(k)}, {x, tensor(std::string("short"))}, {words, vector<std::string>({near, ""})}}, y, a, b);
          EXPECT_EQ(std::string(got), wanted[k]);
          EXPECT_EQ(std::string(first), wanted[k]);
          EXPECT_EQ(std::string(second), "short");
        }
      }
    }
}

}  // namespace
}  // namespace rill
