// expect: transpose(float32[2, 3]): the permutation names an axis twice
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> x) {
#ifdef VALID
  rill::transpose<1, 0>(x);
#else
  rill::transpose<1, 1>(x);
#endif
}
