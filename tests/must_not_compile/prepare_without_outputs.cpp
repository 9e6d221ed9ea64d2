// expect: prepare: behind the inputs comes what the step gives, as rill::outputs(z) or a
// expect: std::vector<rill::value>
#include <rill/rill.hpp>
void f(rill::session& s, rill::expr<rill::of<float>> x) {
#ifdef VALID
  s.prepare(rill::inputs(x), rill::outputs(x));
#else
  s.prepare(rill::inputs(x), x);
#endif
}
