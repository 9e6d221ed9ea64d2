// expect: matmul(float32[3, 4], float32[2, 3]): the columns of the first are not the rows of the second: 4 against 2
#include "rill/rill.hpp"

auto product(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 3, 4>> b) {
#ifdef VALID
  return rill::matmul(a, b);
#else
  return rill::matmul(b, a);
#endif
}
