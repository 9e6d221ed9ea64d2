// expect: map: a scalar has no rows
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3>> x, rill::expr<rill::of<float>> y) {
#ifdef VALID
  rill::map([](auto row) { return row + 1.f; }, x);
  (void)y;
#else
  rill::map([](auto row) { return row + 1.f; }, y);
  (void)x;
#endif
}
