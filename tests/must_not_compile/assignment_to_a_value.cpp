// expect: constraints not satisfied
#include <rill/rill.hpp>
void f(rill::variable_expr<rill::of<float>> v, rill::expr<rill::of<float>> x) {
#ifdef VALID
  rill::assign(v, x);
#else
  rill::assign(x, v);
#endif
}
