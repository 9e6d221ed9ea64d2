// expect: reshape(float32[2, 3]): the number of elements changes: 6 against 8
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 3>> x) {
#ifdef VALID
  rill::reshape<3, 2>(x);
#else
  rill::reshape<4, 2>(x);
#endif
}
