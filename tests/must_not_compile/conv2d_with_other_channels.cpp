// expect: conv2d(float32[n, 8, 8, 3], float32[5, 5, 1, 32]): image and filter differ in their channels: 3 against 1
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 8, 8, 3>> image, rill::expr<rill::of<float, 5, 5, 3, 32>> filter,
       rill::expr<rill::of<float, 5, 5, 1, 32>> other) {
#ifdef VALID
  rill::conv2d(image, filter);
  (void)other;
#else
  rill::conv2d(image, other);
  (void)filter;
#endif
}
