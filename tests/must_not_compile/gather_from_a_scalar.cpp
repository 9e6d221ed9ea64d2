// expect: gather(float32[], int32[3]): a scalar has no rows
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 5, 2>> table, rill::expr<rill::of<float>> one, rill::expr<rill::of<int, 3>> which) {
#ifdef VALID
  rill::gather(table, which);
  (void)one;
#else
  rill::gather(one, which);
  (void)table;
#endif
}
