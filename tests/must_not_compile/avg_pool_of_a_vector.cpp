// expect: avg_pool(float32[8]): pooling: the image is not of rank 4: [batch, height, width, channels]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 8, 8, 3>> images, rill::expr<rill::of<float, 8>> row) {
#ifdef VALID
  rill::avg_pool(images);
  (void)row;
#else
  rill::avg_pool(row);
  (void)images;
#endif
}
