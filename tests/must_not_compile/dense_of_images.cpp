// expect: dense: the operand is not a matrix with a row for each example; flatten makes one
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 64>> x, rill::expr<rill::of<float, "n", 8, 8>> image) {
#ifdef VALID
  rill::dense<10>(x, "out");
#else
  rill::dense<10>(image, "out");
#endif
}
