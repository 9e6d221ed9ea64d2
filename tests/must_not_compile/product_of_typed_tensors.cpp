// expect: tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run
// expect: them; t.item<float>() is a number
#include <rill/rill.hpp>
auto f(rill::tensor_of<rill::of<float>> a, rill::tensor_of<rill::of<float, 3>> b) {
#ifdef VALID
  return a * a + static_cast<float>(b.rank());
#else
  return a * b;
#endif
}
