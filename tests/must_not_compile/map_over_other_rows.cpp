// expect: a loop over rows: the values have different numbers of rows: 3 against 4
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3>> x, rill::expr<rill::of<float, 4>> y) {
#ifdef VALID
  rill::map([](auto a, auto b) { return a * b; }, x, x);
  (void)y;
#else
  rill::map([](auto a, auto b) { return a * b; }, x, y);
#endif
}
