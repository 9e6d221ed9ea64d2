#include "rill/run/explain.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "../examples/source_folder.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/state/variable.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/run/session.hpp"

namespace rill {
namespace {

session_options one_thread(execution how = execution::automatic) { return {.threads = 1, .execution = how}; }

TEST(explain, prints_what_a_step_needs_its_types_and_each_rewrite) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const y = square(x);
  auto const z = neg(y + 1.f);
  exp(x);  // which the step does not need
  session s(g, one_thread());
  EXPECT_EQ(s.explain({{x, vector<float>({1, 2, 3})}}, z, stages::prune | stages::bind | stages::rewrite),
            "prune\n"
            "  5 of 6 nodes\n"
            "  x         fed\n"
            "  square    square    (x)\n"
            "  constant  constant\n"
            "  add       add       (square, constant)\n"
            "  neg       neg       (add)\n"
            "bind\n"
            "  n = 3\n"
            "  x         float32[3]\n"
            "  square    float32[3]\n"
            "  constant  float32[]\n"
            "  add       float32[3]\n"
            "  neg       float32[3]\n"
            "rewrite\n"
            "  fuse: joined: neg\n");
}

TEST(explain, is_short_unless_stages_are_asked_for_which_may_stand_apart) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = neg(x);
  session s(g, one_thread());
  feed const one{value(x), tensor(1.f)};
  EXPECT_EQ(s.explain({one}, y), "0  neg\n");
  EXPECT_EQ(s.explain({one}, y, stages::summary), "0  neg\n");
  auto const both = s.explain({one}, stages::schedule, y, stages::kernels);
  EXPECT_EQ(both, s.explain({one}, y, stages::kernels | stages::schedule));
  EXPECT_EQ(both,
            "kernels\n"
            "  0  neg  neg  (x)  -> float32[]\n"
            "schedule\n"
            "  sequential: there is one thread\n");
  EXPECT_EQ(s.explain({one}, y, stages::all).find("prune\n  2 of 2 nodes\n"), 0u);
  EXPECT_EQ(s.explain({one}, std::vector<value>{y}, stages::kernels), s.explain({one}, y, stages::kernels));
  EXPECT_EQ(s.memory({one}, std::vector<value>{y}).text(), s.memory({one}, y).text());
}

TEST(explain, prints_the_plans_of_a_loops_bodies) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const k = placeholder<std::int32_t>(g, "k");
  auto const r = while_loop([](auto i, auto, auto n) { return i < n; },
                            [](auto i, auto v, auto n) { return std::tuple{i + 1, neg(v), n}; }, constant(g, 0), x, k);
  session s(g, one_thread());
  auto const text = s.explain({{x, vector<float>({1, 2, 3, 4})}, {k, tensor(3)}}, std::get<1>(r),
                              stages::kernels | stages::schedule | stages::bodies);
  EXPECT_NE(text.find("kernels\n"
                      "  0  loop  loop  (constant, x, k)  -> int32[], float32[4], int32[], int64[]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("bodies\n"
                      "  a body of loop\n"
                      "    kernels\n"
                      "      0  body/add  add  (body/argument, body/constant)  -> int32[]\n"
                      "      1  body/neg  neg  (body/argument_1)               -> float32[4]\n"
                      "    schedule\n"
                      "      sequential: one thread goes through a body\n"),
            std::string::npos)
      << text;
}

TEST(explain, prints_the_frames_of_a_loop_in_tagged_execution) {
  graph g;
  auto const x = placeholder<std::int32_t>(g, "x");
  auto const n = while_loop([](auto i) { return i < 10; }, [](auto i) { return i + 1; }, x);
  session s(g, one_thread(execution::tagged));
  auto const text = s.explain({{x, tensor(1)}}, n, stages::schedule | stages::bodies);
  EXPECT_EQ(text.find("schedule\n"
                      "  sequential: there is one thread\n"
                      "bodies\n"
                      "  a body of loop\n"
                      "    frame 0, around all\n"),
            0u)
      << text;
  EXPECT_NE(text.find("\n    frame 1 'loop 0', in frame 0, up to 10 iterations at once\n"), std::string::npos) << text;
}

TEST(explain, prints_what_is_planned_when_the_rest_has_run) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const v = variable<float, unknown>(g, "v");
  auto const set = assign(v, x);
  auto const later = g.after({set}, [&] { return neg(read(v)); });
  session s(g, one_thread());
  EXPECT_EQ(s.explain({{x, vector<float>({1, 2})}}, later, stages::deferred),
            "deferred\n"
            "  it is planned when the rest has run and these extents are known\n"
            "  inputs\n"
            "    read  float32[?]  result 0 of the rest\n"
            "  nodes\n"
            "    read  fed\n"
            "    neg   neg  (read)\n");
}

TEST(explain, prints_what_the_guide_says_that_it_prints) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const z = sum(square(x));
  session s(g);
  std::ifstream page(source_folder() / "docs/guide/first_graph.md");
  std::string const guide(std::istreambuf_iterator<char>(page), {});
  auto const text = s.explain({{x, vector<float>({1, 2, 3})}}, z, stages::kernels | stages::memory);
  EXPECT_NE(guide.find("```text\n" + text + "```"), std::string::npos) << text;
}

TEST(explain, prints_functions_once_for_each_list_of_types) {
  graph g;
  auto const f = function<"twice", of<float, 4>>(g, [](auto x) { return neg(square(x)) + x; });
  auto const x = placeholder<float, 4>(g, "x");
  session s(g, {.threads = 1, .passes = pass_options::none()});
  auto const text = s.explain({{x, vector<float>({1, 2, 3, 4})}}, f(f(x)), stages::schedule | stages::bodies);
  EXPECT_EQ(text,
            "schedule\n"
            "  sequential: there is one thread\n"
            "bodies\n"
            "  function 'twice' of (float32[4])\n"
            "    schedule\n"
            "      sequential: one thread goes through a body\n");
}

}  // namespace
}  // namespace rill
