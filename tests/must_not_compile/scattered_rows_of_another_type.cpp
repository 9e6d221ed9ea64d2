// expect: scatter_add(float32[5, 2], int32[3], float32[3, 4]): a scattered update does not have one row for each index
#include <rill/rill.hpp>
void f(rill::variable_expr<rill::of<float, 5, 2>> v, rill::expr<rill::of<int, 3>> which,
       rill::expr<rill::of<float, 3, 2>> rows, rill::expr<rill::of<float, 3, 4>> wide) {
#ifdef VALID
  rill::scatter_add(v, which, rows);
  (void)wide;
#else
  rill::scatter_add(v, which, wide);
  (void)rows;
#endif
}
