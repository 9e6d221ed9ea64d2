// expect: batch_norm_layer: expected norm(x, training), where training is a bool of the program or the graph:
// expect: true in a step that trains
#include <rill/rill.hpp>
auto f(rill::batch_norm_layer const& norm, rill::expr<rill::of<float, 8, 3>> x) {
#ifdef VALID
  return norm(x, true);
#else
  return norm(x);
#endif
}
