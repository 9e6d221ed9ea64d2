#include "rill/run/plan/print.hpp"

#include <gtest/gtest.h>

#include "pass/subgraphs.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/state/variable.hpp"
#include "rill/ops/table/scatter.hpp"
#include "rill/run/compiled_body.hpp"
#include "rill/run/plan/make_plan.hpp"

namespace rill {
namespace {

plan plan_of(subgraph const& sub, execution how = execution::sequential, int threads = 2) {
  static container state;
  return make_plan(sub, {.state = state, .threads = threads, .execution = how});
}

TEST(print, tells_where_the_values_of_a_chain_lie_and_which_take_the_place_of_others) {
  graph g;
  value const x = placeholder(g, of<float, 3>, "x"), s = square(neg(x)), two = constant(g, 2.f), y = add(s, two);
  auto const p = plan_of(part_of(g, {y, x}, {}, {x}));
  EXPECT_EQ(slots_text(p),
            "0  x         float32[3]  pointers 0\n"
            "1  neg       float32[3]  pointers 1, 3\n"
            "2  square    float32[3]  pointers 4, 6\n"
            "3  constant  float32[]   pointers 7\n"
            "4  add       float32[3]  pointers 8\n");
  EXPECT_EQ(kernels_text(p),
            "0  neg     neg     (x)                 -> float32[3]\n"
            "1  square  square  (neg)               -> float32[3]\n"
            "2  add     add     (square, constant)  -> float32[3]\n");
  EXPECT_EQ(schedule_text(p), "sequential: the session asks for it\n");
  EXPECT_EQ(memory_text(p),
            "arena of 64 bytes, at most 12 bytes of it in use at once; constants of 4 bytes\n"
            "in the arena\n"
            "  neg     at 0  12 bytes  from 0 to 1\n"
            "  square  at 0  12 bytes  from 1 to 2  in the place of neg\n"
            "outside the arena\n"
            "  x         feed 0              12 bytes  from 0 to the end\n"
            "  constant  constant            4 bytes   from 0 to 2\n"
            "  add       tensor of a result  12 bytes  from 2 to the end\n"
            "results\n"
            "  0  add\n"
            "  1  x    a copy of what is fed\n");
}

TEST(print, tells_which_instructions_others_wait_for_and_where_a_parallel_plan_forks) {
  graph g;
  value const x = placeholder(g, of<float, 8>, "x"), y = neg(x), a = tanh(y), b = square(y);
  auto const p = plan_of(part_of(g, {add(a, b)}, {}, {x}), execution::parallel);
  EXPECT_EQ(schedule_text(p),
            "parallel: the session asks for it\n"
            "0  neg     begins at once  then forks to 1, 2\n"
            "1  tanh    after 0\n"
            "2  square  after 0\n"
            "3  add     after 1, 2\n");
  EXPECT_EQ(memory_text(p),
            "arena of 192 bytes, at most 96 bytes of it in use at once\n"
            "in the arena\n"
            "  neg     at 0    32 bytes  from 0 to 2\n"
            "  tanh    at 64   32 bytes  from 1 to 3\n"
            "  square  at 128  32 bytes  from 2 to 3\n"
            "outside the arena\n"
            "  x    feed 0              32 bytes  from 0 to 0\n"
            "  add  tensor of a result  32 bytes  from 3 to the end\n"
            "results\n"
            "  0  add\n");
}

TEST(print, tells_what_is_updated_in_place_and_which_feed_a_body_may_overwrite) {
  graph g;
  value const x = placeholder(g, of<float, 3>, "x"), i = placeholder(g, of<std::int32_t, 1>, "i"),
              v = placeholder(g, of<float, 1>, "v");
  auto const sub = part_of(g, {value(add_rows(add_rows(x, i, v), i, v))}, {}, {x, i, v});
  auto const text = memory_text(plan_of(sub));
  EXPECT_NE(text.find("from 0 to the end  updated in place by add_rows_1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("in a body, may overwrite feed 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("scratch of add_rows"), std::string::npos) << text;
}

TEST(print, tells_what_kernels_allocate_and_which_variables_are_only_referred_to) {
  graph g;
  auto const w = variable(constant(g, vector<float>({1, 2, 3})), "w");
  auto const up = assign(w, constant(g, vector<float>({4, 5, 6})));
  auto const p = plan_of(part_of(g, {}, {up}));
  EXPECT_EQ(kernels_text(p), "0  assign  assign  (w, constant_1)  -> float32[3]  allocates its outputs\n");
  EXPECT_NE(memory_text(p).find("no arena; constants of 12 bytes\n"), std::string::npos) << memory_text(p);
  EXPECT_NE(memory_text(p).find("  w           nowhere: no kernel reads its elements  12 bytes\n"), std::string::npos)
      << memory_text(p);
}

TEST(print, gives_the_reason_for_each_choice_of_an_execution) {
  plan p;
  auto const said = [&](schedule_reason why) {
    p.why = why;
    return schedule_text(p);
  };
  EXPECT_EQ(said({schedule_reason::wish}), "sequential: the session asks for it\n");
  EXPECT_EQ(said({schedule_reason::body}), "sequential: one thread goes through a body\n");
  EXPECT_EQ(said({schedule_reason::one_thread}), "sequential: there is one thread\n");
  EXPECT_EQ(said({schedule_reason::too_many}), "sequential: there are more than 4096 instructions\n");
  EXPECT_EQ(said({schedule_reason::gain, 20'400}),
            "sequential: forking saves about 20 us, and is done from 50 us on\n");
  EXPECT_EQ(said({schedule_reason::tokens}), "tagged: an instruction runs when its tokens have come\n");
  p.schedule.waits.all() = {0, 1};
  p.schedule.next = {plan::instruction_id{1}};
  p.schedule.first.all() = {0, 1, 1};
  p.schedule.alone = p.schedule.one_at_a_time = true;
  p.nodes = {"a", "b"};
  p.instructions.resize(2);
  p.instructions[plan::instruction_id{1}].node = 1;
  p.lines.resize(2);
  EXPECT_EQ(said({schedule_reason::several_wait}),
            "parallel: several kernels may wait, and one of them for another\n"
            "one thread runs all; the others are for its kernels' own loops\n"
            "an instruction begins when no other runs; one that waits does not count\n"
            "0  a  begins at once\n"
            "1  b  after 0\n");
}

TEST(print, puts_the_stages_that_are_asked_for_below_their_names) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const p = plan_of(part_of(g, {value(neg(x))}, {}, {x}), execution::automatic, 1);
  EXPECT_EQ(text(p, stages::kernels | stages::schedule | stages::bodies),
            "kernels\n"
            "  0  neg  neg  (x)  -> float32[]\n"
            "schedule\n"
            "  sequential: there is one thread\n");
  EXPECT_EQ(text(p, stages::summary), "");
}

}  // namespace
}  // namespace rill
