// expect: add(float32[batch, 3], float32[rows, 1]): the operands' extents do not broadcast: they are neither equal nor
// 1: batch against rows
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "batch", 3>> a, rill::expr<rill::of<float, "batch", 1>> b,
       rill::expr<rill::of<float, "rows", 1>> c) {
#ifdef VALID
  a + b;
#else
  a + c;
#endif
}
