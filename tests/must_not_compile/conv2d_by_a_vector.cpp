// expect: conv2d(float32[n, 8, 8, 3], float32[3]): the filter is not of rank 4: [height, width, channels, out_channels]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 8, 8, 3>> images, rill::expr<rill::of<float, 5, 5, 3, 4>> filter,
       rill::expr<rill::of<float, 3>> row) {
#ifdef VALID
  rill::conv2d(images, filter);
  (void)row;
#else
  rill::conv2d(images, row);
  (void)filter;
#endif
}
