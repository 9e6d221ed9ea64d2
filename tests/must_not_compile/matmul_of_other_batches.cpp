// expect: matmul(float32[5, 2, 3], float32[2, 3, 4]): the operands' extents do not broadcast: they are neither equal
// nor 1: 5 against 2
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 5, 2, 3>> a, rill::expr<rill::of<float, 5, 3, 4>> b,
       rill::expr<rill::of<float, 2, 3, 4>> c) {
#ifdef VALID
  rill::matmul(a, b);
#else
  rill::matmul(a, c);
#endif
}
