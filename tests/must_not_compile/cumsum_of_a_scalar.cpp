// expect: axis -1 of rank 0
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n">> rows, rill::expr<rill::of<float>> number) {
#ifdef VALID
  rill::cumsum<-1>(rows);
  (void)number;
#else
  rill::cumsum<-1>(number);
  (void)rows;
#endif
}
