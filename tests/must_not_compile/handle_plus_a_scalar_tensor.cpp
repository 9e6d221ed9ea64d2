// expect: tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run
// expect: them; t.item<float>() is a number
#include <rill/rill.hpp>
auto f(rill::expr<rill::of<float, 3>> x, rill::tensor_of<rill::of<float>> rate) {
#ifdef VALID
  return x + float(rate);
#else
  return x + rate;
#endif
}
