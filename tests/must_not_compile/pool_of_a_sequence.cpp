// expect: the images are not of rank 4: [batch, height, width, channels]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 8, 8, 3>> image, rill::expr<rill::of<float, 2, 8, 3>> sequence) {
#ifdef VALID
  rill::global_avg_pool(image);
#else
  rill::global_avg_pool(sequence);
#endif
}
