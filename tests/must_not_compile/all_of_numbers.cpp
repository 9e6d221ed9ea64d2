// expect: all(float32[2]): all and any: the operand is not of bools; compare it first, as in all(x > 0)
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  rill::all(x > 0.f);
#else
  rill::all(x);
#endif
}
