// expect: mean(int32[2]): the mean of integers is not an integer; cast the operand
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
