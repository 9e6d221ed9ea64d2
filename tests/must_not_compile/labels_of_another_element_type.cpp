// expect: sigmoid_cross_entropy(float32[2], int32[2]): the operands have different element types; cast one of them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<float, 2>> z, rill::expr<rill::of<int, 2>> n) {
#ifdef VALID
  rill::sigmoid_cross_entropy(x, z);
#else
  rill::sigmoid_cross_entropy(x, n);
#endif
}
