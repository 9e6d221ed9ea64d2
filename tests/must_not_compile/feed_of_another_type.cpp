// expect: feed: the tensor does not have the element type and extents of what it is fed to: float64[3] against
// float32[n]
#include <rill/rill.hpp>
void f(rill::session& s, rill::expr<rill::of<float, "n">> x, rill::tensor_of<rill::of<float, 3>> t,
       rill::tensor_of<rill::of<double, 3>> u) {
#ifdef VALID
  s.run({{x, t}}, x);
  (void)u;
#else
  s.run({{x, u}}, x);
  (void)t;
#endif
}
