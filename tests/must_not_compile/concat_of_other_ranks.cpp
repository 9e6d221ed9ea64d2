// expect: concat(float32[2, 3], float32[2]): the operands have different ranks
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 2>> b) {
#ifdef VALID
  rill::concat<0>(a, a);
  (void)b;
#else
  rill::concat<0>(a, b);
#endif
}
