// expect: tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run
// expect: them; t.item<float>() is a number
#include <rill/rill.hpp>
auto f(rill::graph& g, rill::expr<rill::of<float, 3>> x, rill::tensor_of<rill::of<float, 3>> t) {
#ifdef VALID
  return x - rill::constant<float, 3>(g, t);
#else
  return static_cast<void>(g), x - t;
#endif
}
