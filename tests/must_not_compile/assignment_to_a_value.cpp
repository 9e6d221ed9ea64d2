// expect: assign: what is updated must be a variable; this is another value of the graph
#include <rill/rill.hpp>
void f(rill::variable_expr<rill::of<float>> v, rill::expr<rill::of<float>> x) {
#ifdef VALID
  rill::assign(v, x);
#else
  rill::assign(x, v);
#endif
}
