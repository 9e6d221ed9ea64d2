// expect: logical_and(float32[2], float32[2]): the operation does not support this element type
#include <rill/rill.hpp>
void f(rill::expr<rill::of<bool, 2>> p, rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  p & p;
  (void)x;
#else
  x & x;
  (void)p;
#endif
}
