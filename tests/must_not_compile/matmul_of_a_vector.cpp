// expect: matmul(float32[2, 3], float32[3]): an operand is not a matrix
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 3, 1>> b, rill::expr<rill::of<float, 3>> c) {
#ifdef VALID
  rill::matmul(a, b);
#else
  rill::matmul(a, c);
#endif
}
