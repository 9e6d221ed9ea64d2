// expect: conv2d(float32[n, 4, 8, 3], float32[5, 5, 3, 32]): the filter is larger than the padded image
#include <rill/rill.hpp>
constexpr rill::convolution how{.pad = rill::padding::valid};
void f(rill::expr<rill::of<float, "n", 8, 8, 3>> image, rill::expr<rill::of<float, "n", 4, 8, 3>> low) {
#ifdef VALID
  rill::conv2d<32, 5, how>(image, "edges");
#else
  rill::conv2d<32, 5, how>(low, "edges");
#endif
}
