// expect: dense: the operand's element type is not the layer's; cast it
#include <rill/rill.hpp>
void f(rill::graph& g, rill::expr<rill::of<float, "n", 64>> x, rill::expr<rill::of<double, "n", 64>> wide) {
  auto layer = rill::dense_layer<10>(g, 64, "out");
#ifdef VALID
  layer(x);
#else
  layer(wide);
#endif
}
