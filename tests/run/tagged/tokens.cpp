#include "rill/run/tagged/tokens.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ops/run.hpp"
#include "rill/rill.hpp"
#include "run/tagged/framed.hpp"

namespace rill {
namespace {

using detail::tokens;

// Who works on the tokens of a plan, one at a time, in an order that is drawn.
class worker {
 public:
  worker(tagged_plan const& p, std::vector<tensor> fed) : plan_(p), tokens_(p), fed_(std::move(fed)) {}

  // Whether all tokens were used up exactly when the run was done.
  bool work(std::uint64_t seed, std::size_t blocks = SIZE_MAX) {
    std::mt19937_64 draw(seed);
    std::vector<void*> in;
    for (auto& t : fed_) in.push_back(t.mutable_raw());
    tokens_.begin({.pointers = in.data(), .inputs = in.size(), .outputs = 0, .threads = alone_, .step = step_}, 0,
                  false);
    most_at_once = 0;
    std::vector<tokens::token> waiting;
    for (;; --blocks) {
      while (tokens_.ready()) waiting.push_back(tokens_.pop());
      while (tokens_.slow() != 0) waiting.push_back(tokens_.pop_slow());
      if (waiting.empty() || tokens_.done() || blocks == 0) return waiting.empty() && tokens_.done();
      most_at_once = std::max(most_at_once, waiting.size());
      std::swap(waiting[draw() % waiting.size()], waiting.back());
      auto const t = waiting.back();
      waiting.pop_back();
      tokens_.fire(t, t.at->layout->blocks[t.block].first, [&](tokens::token of, tagged_plan::operation const& o) {
        tokens::call(of, o, alone_);
        return true;
      });
    }
  }
  template <class T> std::vector<T> output(std::size_t k) const {
    auto const& o = plan_.outputs[k];
    std::vector<T> made(static_cast<std::size_t>(elements(o.of.shape())));
    std::memcpy(made.data(), tokens_.read(o.kept), made.size() * sizeof(T));
    return made;
  }
  bool is_dead(std::size_t k) const { return tokens_.is_dead(plan_.outputs[k]); }
  void reset() { tokens_.reset(); }

  std::size_t most_at_once = 0;

 private:
  tagged_plan const& plan_;
  tokens tokens_;
  std::vector<tensor> fed_;
  parallel alone_;
  step_context step_;
};

constexpr std::uint64_t orders = 200;

TEST(tokens, any_order_of_two_loops_in_a_loop_gives_the_same) {
  graph g;
  auto const x = placeholder<std::int32_t>(g, "x");
  auto const sum =
      while_loop([](auto i, auto) { return i < 6; },
                 [](auto i, auto s) {
                   auto const up = while_loop([&](auto k) { return k < i; }, [](auto k) { return k + 1; }, 0 * i);
                   auto const down = while_loop([](auto k) { return k > -3; }, [](auto k) { return k - 1; }, i);
                   return std::tuple{i + 1, s * 3 + up * 7 + down};
                 },
                 0 * x, x, parallel_iterations(4));
  framed f;
  auto const p = f.of_loop(g, std::get<1>(sum), {x});
  std::int32_t expected = 2;
  for (std::int32_t i = 0; i < 6; ++i) expected = expected * 3 + i * 7 - 3;
  worker w(p, {tensor(0), tensor(2)});
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    ASSERT_TRUE(w.work(seed)) << seed;
    EXPECT_EQ(w.output<std::int32_t>(1), std::vector{expected}) << seed;
    w.reset();
  }
  EXPECT_GT(w.most_at_once, 1u) << "there was an order to choose";
}

TEST(tokens, rows_lie_in_their_places_whichever_iteration_is_first) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const y = map([](auto v) { return cond(v < 3.f, [&] { return v * v; }, [&] { return -v; }); }, x);
  framed f;
  auto const p = f.of_loop(g, y, {x});
  ASSERT_EQ(p.source.subgraph.inputs.size(), 1u);
  worker w(p, {vector<float>({0, 1, 2, 3, 4, 5, 6, 7})});
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    ASSERT_TRUE(w.work(seed)) << seed;
    EXPECT_EQ(w.output<float>(p.outputs.size() - 1), (std::vector<float>{0, 1, 4, -3, -4, -5, -6, -7})) << seed;
    w.reset();
  }
}

TEST(tokens, what_lies_behind_the_way_not_taken_is_dead_and_a_merge_is_not) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const which = placeholder<bool>(g, "which");
  auto const [no, yes] = tagged::switch_(x, which);
  auto const taken = exp(yes) + x, other = square(no);
  auto const [either, from] = tagged::merge(taken, other);
  framed f;
  auto const p = make_tagged_plan(lowered{part_of(g, {taken, other, from}, {}, {x, which})}, f.request());
  for (bool const way : {true, false}) {
    worker w(p, {tensor(2.f), tensor(way)});
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
      ASSERT_TRUE(w.work(seed));
      EXPECT_EQ(w.is_dead(0), !way);
      EXPECT_EQ(w.is_dead(1), way);
      EXPECT_FALSE(w.is_dead(2));
      EXPECT_EQ(w.output<std::int32_t>(2), std::vector{way ? 0 : 1});
      w.reset();
    }
  }
}

TEST(tokens, a_run_that_was_given_up_leaves_nothing_to_the_next) {
  graph g;
  auto const x = placeholder<std::int32_t>(g, "x");
  auto const n = while_loop([](auto i) { return i < 9; }, [](auto i) { return i + 2; }, x);
  framed f;
  auto const p = f.of_loop(g, n, {x});
  worker w(p, {tensor(0)});
  for (std::size_t blocks = 0; blocks < 12; ++blocks) {
    EXPECT_FALSE(w.work(0, blocks));
    w.reset();
    ASSERT_TRUE(w.work(0));
    EXPECT_EQ(w.output<std::int32_t>(0), std::vector{10}) << "after " << blocks << " blocks";
    w.reset();
  }
}

}  // namespace
}  // namespace rill
