// expect: jvp: the third operand must have the type of x: float32[3] against float32[2]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<float, 3>> y) {
#ifdef VALID
  rill::jvp(y, x, x);
#else
  rill::jvp(y, x, y);
#endif
}
