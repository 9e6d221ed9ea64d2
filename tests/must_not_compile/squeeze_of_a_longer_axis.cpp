// expect: squeeze(float32[1, 3]): the extent of the axis is not 1: 3 against 1
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 1, 3>> x) {
#ifdef VALID
  rill::squeeze<0>(x);
#else
  rill::squeeze<1>(x);
#endif
}
