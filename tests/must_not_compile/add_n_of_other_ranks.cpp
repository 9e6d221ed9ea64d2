// expect: add_n(float32[2, 3], float32[2]): the operands have different ranks
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 2>> b) {
#ifdef VALID
  rill::add_n(a, a);
  (void)b;
#else
  rill::add_n(a, b);
#endif
}
