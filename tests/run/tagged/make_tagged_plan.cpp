#include "rill/run/tagged/make_tagged_plan.hpp"

#include <gtest/gtest.h>

#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/array/transpose.hpp"
#include "rill/ops/control/primitives.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/exponential.hpp"
#include "run/tagged/framed.hpp"

namespace rill {
namespace {

using frame_id = tagged_plan::frame_id;
using block_id = tagged_plan::block_id;

/// The operations of each block of a frame, and where its tokens go: "less -> 1 2".
std::vector<std::string> blocks(tagged_plan const& p, std::uint32_t frame) {
  std::vector<std::string> all;
  auto const& f = p.frames[frame_id{frame}];
  for (auto const& b : f.blocks) {
    std::string text = b.merge == no_index<tagged_plan::merge_id> ? "" : "merge ";
    for (auto o : index_range(b.first, b.last))
      text += std::string(p.source.subgraph[f.operations[o].node].op->name) + ' ';
    text += "->";
    for (auto e : index_range(b.first_edge, b.last_edge)) text += ' ' + std::to_string(as_integer(f.edges[e].to));
    all.push_back(text);
  }
  return all;
}

using texts = std::vector<std::string>;

TEST(frames, a_node_runs_with_the_one_that_it_waits_for) {
  graph g;
  auto const x = placeholder<std::int32_t>(g, "x");
  auto const n = while_loop([](auto i) { return i < 10; }, [](auto i) { return i + 1; }, x);
  auto const p = framed().of_loop(g, n, {x});
  ASSERT_EQ(p.frames.size(), 2u);
  EXPECT_EQ(blocks(p, 0), (texts{"enter ->", "->", "->"})) << "the result and the number of iterations arrive";
  EXPECT_EQ(blocks(p, 1), (texts{"-> 1", "merge less -> 2 3", "add next_iteration iterations ->", "exit ->"}));
  auto const& f = p.frames[frame_id{1}];
  for (auto e : index_range(f.blocks[block_id{1}].first_edge, f.blocks[block_id{1}].last_edge))
    EXPECT_EQ(f.edges[e].port, f.edges[e].to == block_id{2} ? 1 : 0) << "by what the condition says";
  EXPECT_TRUE(f.blocks[block_id{2}].ends && f.blocks[block_id{3}].ends) << "nothing comes of dead tokens";
  EXPECT_TRUE(f.sources.empty());
}

TEST(frames, constants_come_before_the_first_iteration_and_none_waits_for_them_again) {
  graph g;
  auto const x = placeholder<std::int32_t>(g, "x"), most = placeholder<std::int32_t>(g, "most");
  auto const n = while_loop([&](auto i) { return i < most; }, [&](auto i) { return i + most; }, x);
  auto const p = framed().of_loop(g, n, {x, most});
  auto const& f = p.frames[frame_id{1}];
  EXPECT_TRUE(f.gated);
  ASSERT_EQ(f.constants.size(), 1u);
  EXPECT_EQ(f.constants[tagged_plan::constant_id{0}].block, no_index<block_id>);
  EXPECT_EQ(blocks(p, 1), (texts{"-> 1", "merge less -> 3 4", "->", "add next_iteration iterations ->", "exit ->"}));
}

TEST(frames, whoever_writes_primitives_may_let_a_constant_alone_be_dead) {
  graph g;
  auto const x = placeholder<std::int32_t>(g, "x"), most = placeholder<std::int32_t>(g, "most");
  auto const limit = tagged::enter(most, {.frame = "f", .constant = true});
  auto const [v, which] = tagged::merge(tagged::enter(x, {.frame = "f"}));
  auto const [done, again] = tagged::switch_(v, tagged::loop_cond(v < limit));
  tagged::next_iteration(again + 1, v);
  auto const p = framed().of_part(g, tagged::exit(done), {x, most});
  auto const& f = p.frames[frame_id{1}];
  EXPECT_FALSE(f.gated);
  ASSERT_EQ(f.constants.size(), 1u);
  ASSERT_NE(f.constants[tagged_plan::constant_id{0}].block, no_index<block_id>);
  auto const& b = f.blocks[f.constants[tagged_plan::constant_id{0}].block];
  EXPECT_EQ(as_integer(b.last_edge) - as_integer(b.first_edge), 1u) << "less waits for it";
}

TEST(frames, no_block_holds_others_up_for_long) {
  graph g;
  auto const x = placeholder<float, 1000>(g, "x");
  auto const i = placeholder<std::int32_t>(g, "i");
  auto const [n, y] = while_loop([](auto k, auto) { return k < 3; },
                                 [](auto k, auto v) {
                                   auto a = tanh(v);
                                   for (int times = 0; times < 20; ++times) a = tanh(transpose(a));
                                   return std::tuple{k + 1, a};
                                 },
                                 i, x);
  auto const p = framed().of_loop(g, y, {i, x});
  std::size_t most = 0;
  for (auto const& b : p.frames[frame_id{1}].blocks)
    most = std::max<std::size_t>(most, as_integer(b.last) - as_integer(b.first));
  EXPECT_LT(most, 15u) << "forty kernels of some hundred nanoseconds each";
  EXPECT_GT(most, 1u);
}

}  // namespace
}  // namespace rill
