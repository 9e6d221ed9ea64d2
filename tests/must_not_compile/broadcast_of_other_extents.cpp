// expect: add(float32[2, 3], float32[2]): the operands' extents do not broadcast: they are neither equal nor 1: 3
// against 2
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 3>> b, rill::expr<rill::of<float, 2>> c) {
#ifdef VALID
  a + b;
#else
  a + c;
#endif
}
