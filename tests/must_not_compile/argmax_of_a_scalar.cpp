// expect: argmax(float32[]): the axis is out of range for the operand's rank: axis -1 of rank 0
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n">> row, rill::expr<rill::of<float>> number) {
#ifdef VALID
  rill::argmax<-1>(row);
  (void)number;
#else
  rill::argmax<-1>(number);
  (void)row;
#endif
}
