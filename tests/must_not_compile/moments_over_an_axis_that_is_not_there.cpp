// expect: mean(float32[3]): a reduction's axis is out of range for the operand's rank: axis 1 of rank 1
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3>> x) {
#ifdef VALID
  rill::moments<0>(x);
#else
  rill::moments<1>(x);
#endif
}
