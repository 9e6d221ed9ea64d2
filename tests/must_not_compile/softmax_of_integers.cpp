// expect: softmax(int32[2, 3]): the operand is not of floats; cast it
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> x, rill::expr<rill::of<int, 2, 3>> n) {
#ifdef VALID
  rill::softmax(x);
  (void)n;
#else
  rill::softmax(n);
  (void)x;
#endif
}
