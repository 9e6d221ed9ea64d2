// expect: mean(int32[2]): the operand is not of floats or complex numbers; cast it
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<int, 2>> n) {
#ifdef VALID
  rill::mean(x);
  (void)n;
#else
  rill::mean(n);
  (void)x;
#endif
}
