// expect: gradients: the target must have floats or complex numbers
#include <rill/rill.hpp>
void f(rill::expr<rill::of<std::int32_t, 3>> n, rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  rill::jacobian(rill::cast<float>(n), x);
#else
  rill::jacobian(n, x);
#endif
}
