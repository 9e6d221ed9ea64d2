// expect: the columns of the first are not the rows of the second
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 2, 3>> a, rill::expr<rill::of<float, "n", 4, 3>> b) {
#ifdef VALID
  rill::matmul<rill::transposed{.b = true}>(a, b);
#else
  rill::matmul(a, b);
#endif
}
