// expect: assign_add(float32[2], float64[2]): the value is not of the variable's type
#include <rill/rill.hpp>
void f(rill::variable_expr<rill::of<float, 2>> v, rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<double, 2>> y) {
#ifdef VALID
  rill::assign_add(v, x);
  (void)y;
#else
  rill::assign_add(v, y);
  (void)x;
#endif
}
