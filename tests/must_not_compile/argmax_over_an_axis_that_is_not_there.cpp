// expect: argmax(float32[2, 3]): the axis is out of range for the operand's rank: axis 2 of rank 2
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> x) {
#ifdef VALID
  rill::argmax<1>(x);
#else
  rill::argmax<2>(x);
#endif
}
