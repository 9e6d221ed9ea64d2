// expect: dropout: expected dropout(x, rate, training), where training is a bool of the program or the graph:
// expect: true in a step that trains
#include <rill/rill.hpp>
auto f(rill::expr<rill::of<float, 3>> x) {
#ifdef VALID
  return rill::dropout(x, 0.5, true);
#else
  return rill::dropout(x);
#endif
}
