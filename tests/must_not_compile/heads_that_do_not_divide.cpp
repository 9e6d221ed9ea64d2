// expect: the number of features must be divisible by the number of heads
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "batch", "time", 12>> x) {
#ifdef VALID
  rill::multi_head_attention<4>(x, "look");
#else
  rill::multi_head_attention<5>(x, "look");
#endif
}
