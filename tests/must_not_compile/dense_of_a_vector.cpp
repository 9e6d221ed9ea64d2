// expect: dense: expected [batch, ..., features]; expand_dims adds an axis
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 1, 64>> x, rill::expr<rill::of<float, 64>> one) {
#ifdef VALID
  rill::dense<10>(x, "out");
#else
  rill::dense<10>(one, "out");
#endif
}
