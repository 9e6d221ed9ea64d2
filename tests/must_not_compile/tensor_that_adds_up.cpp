// expect: tensors have no arithmetic: compute with handles of a graph, such as rill::constant(g, t), and run
// expect: them; t.item<float>() is a number
#include <rill/rill.hpp>
void f(rill::graph& g, rill::value& sum, rill::tensor total, rill::tensor const& t) {
#ifdef VALID
  sum = sum + rill::constant(g, t), static_cast<void>(total);
#else
  static_cast<void>(g), static_cast<void>(sum), total += t;
#endif
}
