// expect: slice(float32[4, 3]): the box extends beyond the end of the operand
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 4, 3>> x) {
#ifdef VALID
  rill::slice<{0, 0}, {4, 3}>(x);
#else
  rill::slice<{2, 0}, {4, 3}>(x);
#endif
}
