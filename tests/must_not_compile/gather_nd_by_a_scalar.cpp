// expect: gather_nd(float32[3, 4], int32[]): the indices have no last axis
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3, 4>> table, rill::expr<rill::of<int, 5, 2>> which, rill::expr<rill::of<int>> one) {
#ifdef VALID
  rill::gather_nd(table, which);
  (void)one;
#else
  rill::gather_nd(table, one);
  (void)which;
#endif
}
