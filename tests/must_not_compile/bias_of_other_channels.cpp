// expect: bias_add(float32[8, 10], float32[9]): there is not one bias for each channel: 10 against 9
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 8, 10>> x, rill::expr<rill::of<float, 10>> bias,
       rill::expr<rill::of<float, 9>> other) {
#ifdef VALID
  rill::bias_add(x, bias);
  (void)other;
#else
  rill::bias_add(x, other);
  (void)bias;
#endif
}
