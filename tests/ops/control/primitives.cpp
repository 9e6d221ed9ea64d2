#include "rill/ops/control/primitives.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "base/sentence.hpp"
#include "ops/run.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::expect_error;

// x doubled until it is not less than `most`, by hand.
struct doubling {
  explicit doubling(graph& g, std::int64_t parallel = 10)
      : x(placeholder<float>(g, "x")), most(placeholder<float>(g, "most")) {
    auto const limit = tagged::enter(most, {.frame = "while", .constant = true, .parallel_iterations = parallel});
    auto const first = tagged::enter(x, {.frame = "while", .parallel_iterations = parallel});
    auto const [v, which] = tagged::merge(first);
    auto const go_on = tagged::loop_cond(v < limit);
    auto const [done, again] = tagged::switch_(v, go_on);
    inside = again + again;
    tagged::next_iteration(inside, v);
    y = tagged::exit(done);
  }
  expr<of<float>> x, most, inside = x, y = x;
};

TEST(primitives, a_loop_by_hand_runs_as_often_as_its_condition_says) {
  for (std::int64_t parallel : {1, 2, 10})
    for (int threads : {1, 2}) {
      graph g;
      doubling const loop(g, parallel);
      session s(g, {.threads = threads});
      for (auto [first, most, wanted] : {std::tuple{1.f, 100.f, 128.f}, {5.f, 5.f, 5.f}, {3.f, 3.5f, 6.f}})
        EXPECT_EQ(float(s.run({{loop.x, tensor(first)}, {loop.most, tensor(most)}}, loop.y)), wanted);
    }
}

TEST(primitives, a_branch_by_hand_runs_the_chosen_side_alone) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [no, yes] = tagged::switch_(x, x > 0.f);
  auto const root = sqrt(check_numerics(log(yes), "yes"));
  auto const twice = no * 2.f;
  auto const [y, which] = tagged::merge(twice, root);
  session s(g);
  auto const [a, w] = s.run({{x, tensor(1.f)}}, y, which);
  EXPECT_EQ(float(a), 0);
  EXPECT_EQ(std::int32_t(w), 1);
  auto const [b, v] = s.run({{x, tensor(-3.f)}}, y, which);
  EXPECT_EQ(float(b), -6);
  EXPECT_EQ(std::int32_t(v), 0);
}

TEST(primitives, a_dead_value_can_not_be_fetched_but_what_merges_it_can) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [no, yes] = tagged::switch_(x, x > 0.f);
  auto const twice = yes + yes, far = twice * twice;
  session s(g);
  EXPECT_EQ(float(s.run({{x, tensor(2.f)}}, far)), 16);
  for (value v : {value(yes), value(twice), value(far)})
    expect_error(code::failed_precondition, "its value is dead", [&] { s.run({{x, tensor(-2.f)}}, v); });
  EXPECT_EQ(float(s.run({{x, tensor(-2.f)}}, no)), -2) << "the session goes on";
}

TEST(primitives, a_whole_loop_can_be_dead) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const x = placeholder<std::int32_t>(g, "x");
  auto const [no, yes] = tagged::switch_(x, p);
  auto const [i, which] = tagged::merge(tagged::enter(yes, {.frame = "loop"}));
  auto const [done, again] = tagged::switch_(i, tagged::loop_cond(i < 10));
  tagged::next_iteration(again + 3, i);
  auto const [y, side] = tagged::merge(no, tagged::exit(done));
  session s(g);
  EXPECT_EQ(std::int32_t(s.run({{p, tensor(true)}, {x, tensor(0)}}, y)), 12);
  EXPECT_EQ(std::int32_t(s.run({{p, tensor(false)}, {x, tensor(7)}}, y)), 7);
}

TEST(primitives, frames_nest) {
  graph g;
  // for i in 0…4: for j in 0…i: total += 1
  auto const zero = placeholder<std::int32_t>(g, "zero");
  auto const [i, wi] = tagged::merge(tagged::enter(zero, {.frame = "outer"}));
  auto const [total, wt] = tagged::merge(tagged::enter(zero, {.frame = "outer"}));
  auto const more = tagged::loop_cond(i < 5);
  auto const [i_done, i_again] = tagged::switch_(i, more);
  auto const [t_done, t_again] = tagged::switch_(total, more);
  auto const limit = tagged::enter(i_again, {.frame = "inner", .constant = true});
  auto const [j, wj] = tagged::merge(tagged::enter(i_again * 0, {.frame = "inner"}));
  auto const [sum, ws] = tagged::merge(tagged::enter(t_again, {.frame = "inner"}));
  auto const inner_more = tagged::loop_cond(j < limit);
  auto const [j_done, j_again] = tagged::switch_(j, inner_more);
  auto const [s_done, s_again] = tagged::switch_(sum, inner_more);
  tagged::next_iteration(j_again + 1, j);
  tagged::next_iteration(s_again + 1, sum);
  tagged::next_iteration(i_again + 1, i);
  tagged::next_iteration(tagged::exit(s_done), total);
  auto const y = tagged::exit(t_done);
  for (int threads : {1, 3}) {
    session s(g, {.threads = threads});
    EXPECT_EQ(std::int32_t(s.run({{zero, tensor(0)}}, y)), 10);
  }
}

TEST(primitives, travel_as_bytes) {
  graph g;
  doubling const loop(g);
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  session s(*again);
  EXPECT_EQ(s.run({{"x", tensor(1.f)}, {"most", tensor(9.f)}}, {loop.y.name()})[0].item<float>(), 16);
}

TEST(primitives, have_no_gradient) {
  graph g;
  doubling const loop(g);
  expect_error(code::unimplemented, "write the branch or loop with cond or while_loop",
               [&] { gradients(loop.y, loop.x); });
  for (auto const* op : all_operations()) EXPECT_TRUE(op->no_gradient.empty() || op->grad == nullptr) << op->name;
  EXPECT_EQ(definition<ops::switch_op>().grad, nullptr) << "so the page of operations says it";
}

TEST(primitives, refuse_what_does_not_fit) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const refused = [](std::string_view words, auto f) { expect_error(code::invalid_argument, words, f); };
  refused("the predicate must be a scalar of bool", [&] { tagged::switch_(x, x); });
  refused("its inputs must be of one element type",
          [&] { tagged::merge(x, value(placeholder(g, of<std::int32_t>, "i"))); });
  refused("must have a name", [&] { tagged::enter(x, {}); });
  refused("between 1 and 4096", [&] { tagged::enter(x, {.frame = "f", .parallel_iterations = 0}); });
  refused("must be that of a merge", [&] { tagged::next_iteration(x, x); });
  refused("must be a scalar of bool", [&] { tagged::loop_cond(x); });
}

TEST(primitives, a_merge_of_two_ranks_is_of_unknown_rank) {
  graph g;
  value const x = placeholder(g, of<float>, "x"), n = placeholder(g, of<float, 2>, "n"),
              any = placeholder(g, type::of_unknown_rank(dtype::float32), "any");
  for (auto const& both : {tagged::merge(x, n), tagged::merge(n, x), tagged::merge(n, any), tagged::merge(n, n, x)})
    EXPECT_EQ(both[0].type(), type::of_unknown_rank(dtype::float32));
  session s(g);
  expect_error(code::unimplemented, "the extents of its output, float32[...], are not known",
               [&] { s.run({{x, tensor(1.f)}, {n, vector<float>({1, 2})}}, tagged::merge(x, n)[0]); });
}

// What TensorFlow 1 ties each constant of a branch by.
TEST(primitives, a_constant_is_dead_where_what_it_waits_for_is) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const x = placeholder<float>(g, "x");
  auto const [no, yes] = tagged::switch_(x, p);
  auto const k = g.after({identity(yes)}, [&] { return constant(g, 3.f); });
  auto const far = g.after({operation(k)}, [&] { return constant(g, 4.f); });
  auto const [y, _1] = tagged::merge(no, -k);
  auto const [direct, _2] = tagged::merge(no, k);
  auto const [z, _3] = tagged::merge(no, k + far);
  for (int threads : {1, 2}) {
    session s(g, {.threads = threads});
    auto const run = [&](bool which, value of) {
      return s.run({{p, tensor(which)}, {x, tensor(2.f)}}, of).item<float>();
    };
    EXPECT_EQ(run(false, y), 2);
    EXPECT_EQ(run(true, y), -3);
    EXPECT_EQ(run(false, direct), 2);
    EXPECT_EQ(run(true, direct), 3);
    EXPECT_EQ(run(false, z), 2);
    EXPECT_EQ(run(true, z), 7);
    EXPECT_EQ(run(true, far), 4);
    expect_error(code::failed_precondition, "its value is dead", [&] { run(false, far); });
  }
}

TEST(primitives, a_constant_lies_in_the_frame_of_what_it_waits_for) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [v, which] = tagged::merge(tagged::enter(x, {.frame = "while"}));
  auto const limit = g.after({operation(v)}, [&] { return constant(g, 10.f); });
  auto const [done, again] = tagged::switch_(v, tagged::loop_cond(v < limit));
  auto const step = g.after({operation(again)}, [&] { return constant(g, 3.f); });
  tagged::next_iteration(again + step, v);
  auto const y = tagged::exit(done);
  session s(g, {.threads = 2});
  EXPECT_EQ(float(s.run({{x, tensor(0.f)}}, y)), 12);
  EXPECT_EQ(float(s.run({{x, tensor(11.f)}}, y)), 11);
  expect_error(code::invalid_argument, "lie in different frames", [&] { s.run({{x, tensor(0.f)}}, x + step); });
}

// A loop_cond hands its predicate on: each switch goes by the one that it was given.
TEST(primitives, two_loop_conds_in_one_frame_are_two_predicates) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [v, which] = tagged::merge(tagged::enter(x, {.frame = "while"}));
  auto const [w, from] = tagged::merge(tagged::enter(x, {.frame = "while"}));
  auto const [v_done, v_again] = tagged::switch_(v, tagged::loop_cond(v < 4.f));
  auto const [w_done, w_again] = tagged::switch_(w, tagged::loop_cond(w < 9.f));
  tagged::next_iteration(v_again + 1.f, v);
  tagged::next_iteration(w_again + 2.f, w);
  auto const first = tagged::exit(v_done), second = tagged::exit(w_done);
  session s(g);
  auto const [a, b] = s.run({{x, tensor(0.f)}}, first, second);
  EXPECT_EQ(float(a), 4);
  EXPECT_EQ(float(b), 10);
}

TEST(primitives, edges_that_cross_frames_are_refused_when_planned) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const inside = tagged::enter(x, {.frame = "f"});
  auto const also = tagged::enter(x, {.frame = "other"});
  auto const other = g.after({operation(inside)}, [&] { return neg(x); });
  session s(g);
  auto const refused = [&](std::string_view words, value v) {
    expect_error(code::invalid_argument, words, [&] { s.run({{x, tensor(1.f)}}, v); });
  };
  refused("lie in different frames", add(inside, x));
  refused("lie in different frames", add(inside, also));
  refused("a control edge crosses", other);
  refused("lies inside a frame", inside);
  refused("it leaves a frame, and 'x', which is fed, is in no frame", tagged::exit(x));
  refused("it leaves a frame, and 'constant' is in no frame", tagged::exit(value(constant(g, 2.f))));
  refused("is never dead", tagged::merge(x, value(constant(g, 1.f)))[0]);
}

TEST(primitives, control_edges_come_from_the_same_frame) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const before = -x;
  struct countdown {
    expr<of<float>> inside, y;
  };
  auto const loop = [&](std::string const& frame, std::vector<operation> const& first) {
    auto const [v, which] = tagged::merge(tagged::enter(x, {.frame = frame}));
    auto const [done, again] = tagged::switch_(v, tagged::loop_cond(v > 0.f));
    auto const less = g.scope(frame, [&, from = again] {
      auto const step = constant(g, 1.f);
      return g.after(first, [&] { return from - step; });
    });
    tagged::next_iteration(less, v);
    return countdown{less, tagged::exit(done)};
  };
  auto const one = loop("one", {});
  session s(g);
  EXPECT_EQ(float(s.run({{x, tensor(2.f)}}, one.y)), 0);
  auto const says = [&](std::string_view words, value y) {
    auto const text = sentence([&] { s.run({{x, tensor(2.f)}}, y); });
    EXPECT_EQ(text, "invalid_argument: " + std::string(words));
  };
  says(
      "node 'outside/mul': a control edge crosses from one frame to another: 'one/sub' is in frame 'one', 'x', which "
      "is "
      "fed, is in no frame",
      g.scope("outside", [&] { return g.after({operation(one.inside)}, [&] { return x * x; }); }));
  says(
      "node 'two/sub': a control edge crosses from one frame to another: 'neg' is in no frame, 'switch_1' is in frame "
      "'two'",
      loop("two", {operation(before)}).y);
  says(
      "node 'three/sub': a control edge crosses from one frame to another: 'one/sub' is in frame 'one', 'switch_2' is "
      "in "
      "frame 'three'",
      loop("three", {operation(one.inside)}).y);
}

TEST(primitives, what_is_fed_is_not_dead_and_lies_in_no_frame) {
  graph g;
  auto const x = placeholder<float>(g, "fed");
  auto const [no, yes] = tagged::switch_(x, x > 0.f);
  auto const [merged, side] = tagged::merge(no * 1.f, yes * 1.f);
  doubling const loop(g);
  session s(g, {.threads = 2});
  std::vector<feed> feeds{{x, tensor(-1.f)}, {yes, tensor(5.f)}};
  EXPECT_EQ(s.run(feeds, yes).at<float>(), 5) << "dead, if it were not fed";
  EXPECT_EQ(s.run(feeds, yes + 1.f).at<float>(), 6);
  EXPECT_EQ(s.run(feeds, no).at<float>(), -1) << "the other output is as it was";
  feeds.emplace_back(no, tensor(4.f));
  auto const either = s.run(feeds, merged).at<float>();
  EXPECT_TRUE(either == 4 || either == 5) << either << ": the first that comes";
  EXPECT_EQ(float(s.run({{loop.y, tensor(7.f)}}, loop.y * 2.f)), 14) << "the loop need not run";
  auto const refused = [&](std::string_view words, value fed) {
    auto const text =
        sentence([&] { s.run({{loop.x, tensor(1.f)}, {loop.most, tensor(9.f)}, {fed, tensor(3.f)}}, loop.y); });
    EXPECT_EQ(text, "invalid_argument: " + std::string(words));
  };
  refused(
      "node 'next_iteration': its inputs lie in different frames: let them enter or exit: 'merge_1' is in frame "
      "'while', 'add', which is fed, is in no frame",
      loop.inside);
}

TEST(primitives, an_error_of_their_plan_names_the_node_that_somebody_wrote) {
  graph g;
  doubling const loop(g);
  session s(g);
  auto const text = sentence([&] { s.run({{loop.x, tensor(1.f)}, {loop.most, tensor(9.f)}}, loop.inside); });
  EXPECT_EQ(text, "invalid_argument: node 'add': a fetched value lies inside a frame: let it exit");
}

TEST(primitives, two_tokens_that_leave_by_one_exit_are_refused) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [v, which] = tagged::merge(tagged::enter(x, {.frame = "f"}));
  auto const [done, again] = tagged::switch_(v, tagged::loop_cond(v < 4.f));
  tagged::next_iteration(again + 1.f, v);
  auto const each = tagged::exit(v);
  session s(g);
  expect_error(code::failed_precondition, "tokens of two iterations", [&] { s.run({{x, tensor(1.f)}}, each); });
  EXPECT_EQ(float(s.run({{x, tensor(5.f)}}, each)), 5) << "the session goes on";
}

TEST(primitives, rows_that_are_not_there_are_neither_read_nor_written) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  value const rows = record_erased<ops::enter_op>(g, {"f", true, 10}, {x});
  auto const turns = [&](std::int64_t count, std::int64_t most) {
    auto const n = tagged::enter(placeholder_with_default(constant(g, count)), {.frame = "f", .constant = true});
    auto const [v, which] = tagged::merge(tagged::enter(constant(g, false), {.frame = "f"}));
    auto const go_on = tagged::loop_cond(
        g.after({operation(v)}, [&] { return as<of<bool>>(record_erased<ops::goes_on_op>(g, {most}, {n})); }));
    auto const [done, again] = tagged::switch_(v, go_on);
    tagged::next_iteration(again, v);
    auto const guard = operation(identity(again));
    return std::pair{value(n), guard};
  };
  session s(g);
  auto const reading = [&](bool backwards) {
    auto const [n, guard] = turns(5, -1);
    value const row = g.after({guard}, [&] { return record_erased<ops::row_op>(g, {backwards}, {rows, n}); });
    return record_erased<ops::collect_op>(g, {5}, {row});
  };
  for (bool backwards : {false, true}) {
    auto const y = reading(backwards);
    expect_error(code::invalid_argument, "there is no row", [&] { s.run({{x, vector<float>({1, 2, 3})}}, y); });
  }
  auto const [n, guard] = turns(5, -1);
  value const one = g.after({guard}, [&] { return record_erased<ops::goes_on_op>(g, {-1}, {n}); });
  auto const y = record_erased<ops::collect_op>(g, {2}, {one});
  expect_error(code::invalid_argument, "there is no row 2", [&] { s.run(y); });
}

// Bytes may say what `next_iteration` does not take: the value that it is handed back to is written.
TEST(primitives, hand_back_to_the_value_of_a_merge_alone) {
  graph g;
  auto const x = placeholder<std::string>(g, "x");
  auto const [v, which] = tagged::merge(tagged::enter(x, {.frame = "f"}));
  auto const zero = tagged::enter(placeholder_with_default(constant(g, 0)), {.frame = "f", .constant = true});
  auto const go_on = tagged::loop_cond(which == zero);
  auto const [done, again] = tagged::switch_(v, go_on);
  auto const [end, number] = tagged::switch_(which, go_on);
  auto const more = number + number;
  operation const wrong[] = {record_erased<ops::next_iteration_op>(g, {}, {more, which}),
                             record_erased<ops::next_iteration_op>(g, {}, {again, tagged::enter(x, {.frame = "f"})}),
                             record_erased<ops::next_iteration_op>(g, {}, {more, more})};
  auto const read = graph_from_bytes(to_bytes(g), all_operations());
  for (auto const& each : wrong) {
    auto const sub = g.after({each}, [&] { return tagged::exit(done); });
    session s(g);
    expect_error(code::invalid_argument, "the second value must be that of a merge",
                 [&] { s.run({{x, tensor(std::string("abc"))}}, sub, each); });
  }
  session t(*read);
  EXPECT_THROW(t.run({{"x", tensor(std::string("abc"))}}, operation(read->find("next_iteration"))), error);
}

// Nothing of a subgraph with primitives is settled late: kernels would take what has no extents yet.
TEST(primitives, refuse_values_beside_them_whose_extents_only_the_step_brings) {
  graph g;
  auto const q = fifo_queue<of<float, 2, unknown>, of<float, unknown, 3>>(g, {.capacity = 4}, "open");
  auto const rows = fifo_queue<of<float, unknown>>(g, {.capacity = 4}, "rows");
  auto const yes = fifo_queue<of<bool>>(g, {.capacity = 4}, "yes");
  auto const [a, b] = dequeue(q);
  auto const row = dequeue(rows);
  auto const go = placeholder<bool>(g, "go");
  session s(g);
  auto const refused = [&](std::string_view words, value v) {
    s.run(q.enqueue(fill(constant(g, 1.f), shape{2, 5}), fill(constant(g, 1.f), shape{5, 3})));
    s.run(rows.enqueue(fill(constant(g, 3.f), shape{2})));
    expect_error(code::unimplemented, words, [&] { s.run({{go, tensor(true)}}, v); });
  };
  refused("the extents of input 0, float32[2, ?]", tagged::switch_(value(matmul(a, b)), value(go))[1]);
  refused("the extents of input 0, float32[2, ?]",
          sum(tagged::switch_(reshape(value(a), extents{1 << 22}), value(go))[1]));
  auto const first = tagged::enter(constant<float, 2>(g, {1, 1}), {.frame = "f"});
  auto const all = tagged::enter(value(row), {.frame = "f", .constant = true});
  auto const on = tagged::enter(value(go), {.frame = "f", .constant = true});
  auto const v = tagged::merge(value(first))[0];
  auto const sides = tagged::switch_(v, on);
  tagged::next_iteration(tagged::switch_(all, on)[1], v);
  refused("the extents of input 0, float32[?]", tagged::exit(sides[0]));
}

TEST(primitives, count_in_scalars_of_int64) {
  graph g;
  value const x = placeholder(g, of<float, 3>, "x"), empty = placeholder(g, of<std::int64_t, 0>, "empty"),
              flag = placeholder(g, of<bool>, "flag");
  for (auto const& count : {empty, flag}) {
    auto const refused = [&](auto f) { expect_error(code::invalid_argument, "must be a scalar of int64", f); };
    refused([&] { record_erased<ops::row_op>(g, {false}, {x, count}); });
    refused([&] { record_erased<ops::collect_op>(g, {4, true, false}, {x, count}); });
    refused([&] { record_erased<ops::drawn_by_row_op>(g, {1, true}, {count}); });
    refused([&] { record_erased<ops::goes_on_op>(g, {-1}, {count}); });
  }
}

TEST(primitives, an_endless_loop_of_them_ends_by_a_deadline_or_a_cancellation_and_names_no_node_that_nobody_wrote) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [v, which] = tagged::merge(tagged::enter(x, {.frame = "endless"}));
  auto const [done, again] = tagged::switch_(v, tagged::loop_cond(v < 1.f));
  tagged::next_iteration(again * 1.f, v);
  auto const y = tagged::exit(done);
  session s(g, {.threads = 2});
  auto const late = sentence([&] { s.run({{x, tensor(0.f)}}, y, timeout{std::chrono::milliseconds(5)}); });
  std::stop_source stop;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop.request_stop();
  });
  auto const cancelled = sentence([&] { s.run({{x, tensor(0.f)}}, y, stop.get_token()); });
  other.join();
  for (auto const& [said, word] : {std::pair{late, "deadline"}, {cancelled, "cancelled"}}) {
    EXPECT_NE(said.find(word), std::string::npos) << said;
    EXPECT_EQ(said.find("region"), std::string::npos) << said;
  }
  EXPECT_EQ(float(s.run({{x, tensor(2.f)}}, y)), 2) << "the session goes on";
}

TEST(primitives, an_error_names_the_frame_and_the_iteration) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [v, which] = tagged::merge(tagged::enter(x, {.frame = "countdown"}));
  auto const [done, again] = tagged::switch_(v, tagged::loop_cond(v > -10.f));
  tagged::next_iteration(check_numerics(log(again), "log") * 0.f + again - 1.f, v);
  auto const y = tagged::exit(done);
  session s(g);
  auto const text = sentence([&] { s.run({{x, tensor(2.5f)}}, y); });
  EXPECT_NE(text.find("in iteration 3 of frame 'countdown'"), std::string::npos) << text;
  EXPECT_NE(text.find("node 'check_numerics'"), std::string::npos) << text;
}

TEST(primitives, hand_strings_on_be_they_dead_or_not) {
  std::string const late(40, 'z');  // too long to lie in the string itself
  graph g;
  auto const x = placeholder<std::string>(g, "x"), stop = placeholder<std::string>(g, "stop");
  auto const words = placeholder<std::string, 3>(g, "words");
  auto const [no, yes] = tagged::switch_(x, x == stop);
  auto const [y, which] = tagged::merge(identity(no), gather(stack(yes, stop), constant(g, 1)));
  // Word after word until one is `stop`.
  auto const all = tagged::enter(words, {.frame = "while", .constant = true});
  auto const end = tagged::enter(stop, {.frame = "while", .constant = true});
  auto const [i, from] = tagged::merge(tagged::enter(placeholder<std::int32_t>(g, "zero"), {.frame = "while"}));
  auto const [word, came] = tagged::merge(tagged::enter(y, {.frame = "while"}));
  auto const more = tagged::loop_cond(word != end);
  auto const [i_done, i_again] = tagged::switch_(i, more);
  auto const [w_done, w_again] = tagged::switch_(word, more);
  tagged::next_iteration(gather(all, i_again), word);
  tagged::next_iteration(i_again + 1, i);
  auto const last = tagged::exit(w_done);
  auto const times = tagged::exit(i_done);
  for (int threads : {1, 2}) {
    session s(g, {.threads = threads});
    auto const run = [&](std::string const& first, value fetched) {
      return s.run({{x, tensor(first)},
                    {stop, tensor(late)},
                    {words, vector<std::string>({"", "b", late})},
                    {"zero", tensor(0)}},
                   fetched);
    };
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(run("first", y).item<std::string>(), "first");
      EXPECT_EQ(run(late, y).item<std::string>(), late);
      EXPECT_EQ(run(late, last).item<std::string>(), late);
      EXPECT_EQ(run("first", last).item<std::string>(), late);
      EXPECT_EQ(run("first", times).item<std::int32_t>(), 3);
      expect_error(code::failed_precondition, "its value is dead", [&] { run("first", yes); });
    }
  }
}

}  // namespace
}  // namespace rill
