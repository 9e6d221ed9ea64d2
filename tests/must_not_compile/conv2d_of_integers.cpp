// expect: conv2d(int32[n, 8, 8, 3], int32[5, 5, 3, 2]): the operands are not floats; cast them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 8, 8, 3>> image, rill::expr<rill::of<float, 5, 5, 3, 2>> filter,
       rill::expr<rill::of<int, "n", 8, 8, 3>> bytes, rill::expr<rill::of<int, 5, 5, 3, 2>> whole) {
#ifdef VALID
  rill::conv2d(image, filter);
  (void)bytes, (void)whole;
#else
  rill::conv2d(bytes, whole);
  (void)image, (void)filter;
#endif
}
