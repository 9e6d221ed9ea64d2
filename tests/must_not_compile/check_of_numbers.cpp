// expect: check(float32[2]): the condition is not a bool
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  rill::check(x > 0.f, "above zero");
#else
  rill::check(x, "above zero");
#endif
}
