// expect: select(float32[2], float32[2], float32[2]): the condition is not a bool
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  rill::select(x > 0.f, x, x);
#else
  rill::select(x, x, x);
#endif
}
