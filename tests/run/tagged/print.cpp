#include "rill/run/tagged/print.hpp"

#include <gtest/gtest.h>

#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "run/tagged/framed.hpp"

namespace rill {
namespace {

TEST(tagged_print, tells_which_blocks_send_tokens_to_which_and_what_one_iteration_runs) {
  graph g;
  auto const x = placeholder<std::int32_t>(g, "x");
  auto const n = while_loop([](auto i) { return i < 10; }, [](auto i) { return i + 1; }, x);
  framed made;
  auto const p = made.of_loop(g, n, {x});
  EXPECT_EQ(text(p, stages::schedule),
            "frame 0, around all\n"
            "  blocks\n"
            "    0  enter                  -> 0 in frame 1\n"
            "    1  arrival of exit\n"
            "    2  arrival of iterations\n"
            "  schedule\n"
            "    tagged: an instruction runs when its tokens have come\n"
            "frame 1 'loop 0', in frame 0, up to 10 iterations at once\n"
            "  blocks\n"
            "    0  arrival of enter                      -> 1\n"
            "    1  merge, condition/less                 -> 2 if true, 3 if false\n"
            "    2  body/add, next_iteration, iterations  -> 1 in the next iteration, 2 in frame 0\n"
            "    3  exit                                  -> 1 in frame 0\n"
            "  schedule\n"
            "    tagged: an instruction runs when its tokens have come\n");
  EXPECT_EQ(text(p, stages::memory),
            "frame 0, around all\n"
            "  memory\n"
            "    arena of 128 bytes, in which no values share memory\n"
            "    in the arena\n"
            "      exit        at 0   4 bytes\n"
            "      iterations  at 64  8 bytes\n"
            "    outside the arena\n"
            "      input  feed 0  4 bytes\n"
            "frame 1 'loop 0', in frame 0, up to 10 iterations at once\n"
            "  memory\n"
            "    arena of 256 bytes, in which no values share memory; constants of 8 bytes\n"
            "    in the arena\n"
            "      merge           at 0    4 bytes\n"
            "      merge:1         at 64   4 bytes\n"
            "      condition/less  at 128  1 byte\n"
            "      body/add        at 192  4 bytes\n"
            "    outside the arena\n"
            "      enter               feed 0    4 bytes\n"
            "      condition/constant  constant  4 bytes\n"
            "      body/constant       constant  4 bytes\n");
}

}  // namespace
}  // namespace rill
