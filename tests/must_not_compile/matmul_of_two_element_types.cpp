// expect: matmul(float32[2, 3], float64[3, 1]): the operands have different element types; cast one of them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 3, 1>> b, rill::expr<rill::of<double, 3, 1>> c) {
#ifdef VALID
  rill::matmul(a, b);
#else
  rill::matmul(a, c);
#endif
}
