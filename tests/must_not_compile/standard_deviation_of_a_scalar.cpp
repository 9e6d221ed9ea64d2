// expect: variance(float32[]): a reduction's axis is out of range for the operand's rank: axis 0 of rank 0
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3>> rows, rill::expr<rill::of<float>> number) {
#ifdef VALID
  rill::standard_deviation<0>(rows);
  (void)number;
#else
  rill::standard_deviation<0>(number);
  (void)rows;
#endif
}
