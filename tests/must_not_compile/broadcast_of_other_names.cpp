// expect: extents do not broadcast: they are neither equal nor 1
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "batch", 3>> a, rill::expr<rill::of<float, "batch", 1>> b,
       rill::expr<rill::of<float, "rows", 1>> c) {
#ifdef VALID
  a + b;
#else
  a + c;
#endif
}
