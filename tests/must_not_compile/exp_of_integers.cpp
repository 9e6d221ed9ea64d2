// expect: exp(int32[2]): the operation does not support this element type
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<int, 2>> n) {
#ifdef VALID
  rill::exp(x);
#else
  rill::exp(n);
#endif
}
