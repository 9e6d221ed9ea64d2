// expect: reshape(float32[2, 3]): at most one extent can be inferred
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> x) {
#ifdef VALID
  rill::reshape<-1, 2>(x);
#else
  rill::reshape<-1, -1>(x);
#endif
}
