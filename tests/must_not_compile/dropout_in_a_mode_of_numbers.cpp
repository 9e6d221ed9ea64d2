// expect: dropout: expected dropout(x, rate, training), where training is a bool of the program or the graph:
// expect: true in a step that trains
#include <rill/rill.hpp>
auto f(rill::expr<rill::of<float, 3>> x, rill::expr<rill::of<float>> rate, rill::expr<rill::of<bool>> training) {
#ifdef VALID
  return static_cast<void>(rate), rill::dropout(x, 1, training);
#else
  return static_cast<void>(training), rill::dropout(x, 0.5, rate);
#endif
}
