// expect: the features do not fall into as many equal parts as there are heads
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "batch", "time", 12>> x) {
#ifdef VALID
  rill::multi_head_attention<4>(x, "look");
#else
  rill::multi_head_attention<5>(x, "look");
#endif
}
