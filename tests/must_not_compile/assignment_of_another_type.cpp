// expect: assign(float32[2], float32[3]): the value is not of the variable's type
#include <rill/rill.hpp>
void f(rill::variable_expr<rill::of<float, 2>> v, rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<float, 3>> y) {
#ifdef VALID
  rill::assign(v, x);
#else
  rill::assign(v, y);
#endif
}
