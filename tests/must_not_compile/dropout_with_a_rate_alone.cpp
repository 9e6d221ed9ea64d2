// expect: dropout: expected dropout(x, rate, training), where training is a bool of the program or the graph:
// expect: true in a step that trains
#include <rill/rill.hpp>
auto f(rill::value x) {
#ifdef VALID
  return rill::dropout(x, 0.5, x);
#else
  return rill::dropout(x, 0.5);
#endif
}
