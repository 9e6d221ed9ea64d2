// expect: flatten(float32[]): expected at least one axis
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 3, 2>> rows, rill::expr<rill::of<float>> number) {
#ifdef VALID
  rill::flatten(rows);
  (void)number;
#else
  rill::flatten(number);
  (void)rows;
#endif
}
