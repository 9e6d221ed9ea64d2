// expect: einsum(float32[2, 3], float32[4, 5]): the operands' extents do not broadcast: they are neither equal nor 1: 3
// against 4
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 3, 4>> b, rill::expr<rill::of<float, 4, 5>> c) {
#ifdef VALID
  rill::einsum<"ij,jk->ik">(a, b);
#else
  rill::einsum<"ij,jk->ik">(a, c);
#endif
}
