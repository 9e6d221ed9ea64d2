// expect: concat(float32[2, 3], float32[2, 4]): the operands' extents differ along another axis: 3 against 4
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 2, 4>> b) {
#ifdef VALID
  rill::concat<1>(a, b);
#else
  rill::concat<0>(a, b);
#endif
}
