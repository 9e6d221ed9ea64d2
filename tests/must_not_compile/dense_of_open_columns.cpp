// expect: dense: the weights need a known number of features
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 64>> x, rill::expr<rill::of<float, "n", "pixels">> open) {
#ifdef VALID
  rill::dense<10>(x, "out");
#else
  rill::dense<10>(open, "out");
#endif
}
