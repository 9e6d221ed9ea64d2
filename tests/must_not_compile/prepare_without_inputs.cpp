// expect: prepare: the first argument is rill::inputs(x, y) or a std::vector<rill::value>
#include <rill/rill.hpp>
void f(rill::session& s, rill::expr<rill::of<float>> x) {
#ifdef VALID
  s.prepare(rill::inputs(x), rill::outputs(x));
#else
  s.prepare(x, rill::outputs(x));
#endif
}
