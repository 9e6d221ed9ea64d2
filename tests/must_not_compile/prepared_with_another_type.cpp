// expect: a prepared step is called with a tensor of another type: float64[3] against float32[n]
#include <rill/rill.hpp>
void f(rill::session& s, rill::expr<rill::of<float, "n">> x, rill::tensor_of<rill::of<float, 3>> t,
       rill::tensor_of<rill::of<double, 3>> u) {
#ifdef VALID
  s.prepare(rill::inputs(x), rill::outputs(x))(t);
  (void)u;
#else
  s.prepare(rill::inputs(x), rill::outputs(x))(u);
  (void)t;
#endif
}
