// expect: concat(float32[1, 2, 3], float32[1, 2, 4]): the operands' extents differ along another axis: 3 against 4
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 2, 4>> b) {
#ifdef VALID
  rill::stack(a, a);
  (void)b;
#else
  rill::stack(a, b);
#endif
}
