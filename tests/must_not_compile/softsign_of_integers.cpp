// expect: softsign(int32[8]): the operand is not of floats; cast it
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 8>> x, rill::expr<rill::of<int, 8>> n) {
#ifdef VALID
  rill::softsign(x);
  (void)n;
#else
  rill::softsign(n);
  (void)x;
#endif
}
