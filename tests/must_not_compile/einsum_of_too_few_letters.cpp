// expect: einsum(float32[2, 3]): an operand does not have an axis for each letter: 2 against 3
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> a) {
#ifdef VALID
  rill::einsum<"ij->ji">(a);
#else
  rill::einsum<"ijk->ji">(a);
#endif
}
