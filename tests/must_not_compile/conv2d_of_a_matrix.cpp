// expect: conv2d: expected images [n, height, width, channels]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 8, 8, 1>> image, rill::expr<rill::of<float, "n", 64>> row) {
#ifdef VALID
  rill::conv2d<32, 5>(image, "edges");
#else
  rill::conv2d<32, 5>(row, "edges");
#endif
}
