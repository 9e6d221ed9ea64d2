// expect: avg_pool(int32[2, 8, 8, 3]): the images are not of floats; cast them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 8, 8, 3>> x, rill::expr<rill::of<int, 2, 8, 8, 3>> n) {
#ifdef VALID
  rill::avg_pool<rill::average_pooling{.window = {2, 2}}>(x);
  (void)n;
#else
  rill::avg_pool<rill::average_pooling{.window = {2, 2}}>(n);
  (void)x;
#endif
}
