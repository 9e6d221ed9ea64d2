// expect: axis lies outside of the operand
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> x) {
#ifdef VALID
  rill::sum<1>(x);
#else
  rill::sum<2>(x);
#endif
}
