// expect: sub(float32[4, 2], float32[3, 2]): the operands' extents do not broadcast: they are neither equal nor 1
#include <rill/rill.hpp>

void f(rill::expr<rill::of<float, 4, 2>> x, rill::expr<rill::of<float, 3, 2>> y) {
#ifdef VALID
  rill::mse(x, x), rill::mse(y, y);
#else
  rill::mse(x, y);
#endif
}
