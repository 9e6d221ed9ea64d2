// expect: gradients: the target must have floats or complex numbers
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> y, rill::expr<rill::of<int>> n, rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  rill::gradients(y, x);
  (void)n;
#else
  rill::gradients(n, x);
  (void)y;
#endif
}
