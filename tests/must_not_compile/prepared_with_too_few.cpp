// expect: a prepared step is called with a tensor for each of its inputs
#include <rill/rill.hpp>
void f(rill::session& s, rill::expr<rill::of<float, "n">> x, rill::tensor_of<rill::of<float, 3>> t) {
  auto step = s.prepare(rill::inputs(x, x), rill::outputs(x));
#ifdef VALID
  step(t, t);
#else
  step(t);
#endif
}
