// expect: upsample(float32[8, 8]): expected images [height, width, channels]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 8, 8, 1>> image, rill::expr<rill::of<float, 8, 8>> matrix) {
#ifdef VALID
  rill::upsample_nearest<2>(image);
  (void)matrix;
#else
  rill::upsample_nearest<2>(matrix);
  (void)image;
#endif
}
