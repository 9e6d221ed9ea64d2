// expect: gather(float32[5, 2], float32[3]): the indices are neither int32 nor int64
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 5, 2>> table, rill::expr<rill::of<int, 3>> which,
       rill::expr<rill::of<float, 3>> wrong) {
#ifdef VALID
  rill::gather(table, which);
  (void)wrong;
#else
  rill::gather(table, wrong);
  (void)which;
#endif
}
