// expect: tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run
// expect: them; t.item<float>() is a number
#include <rill/rill.hpp>
auto f(rill::graph& g, rill::tensor const& t) {
#ifdef VALID
  return -rill::constant(g, t);
#else
  return static_cast<void>(g), -t;
#endif
}
