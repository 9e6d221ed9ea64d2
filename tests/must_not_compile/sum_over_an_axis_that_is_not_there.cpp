// expect: sum(float32[2, 3]): a reduction's axis is out of range for the operand's rank: axis 2 of rank 2
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> x) {
#ifdef VALID
  rill::sum<1>(x);
#else
  rill::sum<2>(x);
#endif
}
