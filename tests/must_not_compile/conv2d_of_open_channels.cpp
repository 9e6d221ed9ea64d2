// expect: conv2d: the filters need a known number of channels
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 8, 8, 1>> image, rill::expr<rill::of<float, "n", 8, 8, "channels">> open) {
#ifdef VALID
  rill::conv2d<32, 5>(image, "edges");
#else
  rill::conv2d<32, 5>(open, "edges");
#endif
}
