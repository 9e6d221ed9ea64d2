// expect: matmul(float32[n, 2, 3], float32[n, 4, 3]): the columns of the first are not the rows of the second: 3
// against 4
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 2, 3>> a, rill::expr<rill::of<float, "n", 4, 3>> b) {
#ifdef VALID
  rill::matmul<rill::transposed{.b = true}>(a, b);
#else
  rill::matmul(a, b);
#endif
}
