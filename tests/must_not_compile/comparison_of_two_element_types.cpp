// expect: less(float32[2], int32[2]): the operands have different element types; cast one of them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<int, 2>> n) {
#ifdef VALID
  (void)(x < x);
  (void)n;
#else
  (void)(x < n);
#endif
}
