// expect: cond: the two branches must return values of the same types: float32[2] against float64[2]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<bool>> p, rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<double, 2>> y) {
#ifdef VALID
  rill::cond(p, [&] { return x; }, [&] { return -x; });
  (void)y;
#else
  rill::cond(p, [&] { return x; }, [&] { return y; });
#endif
}
