// expect: split(float32[2, 6]): the axis does not fall into that many equal parts: 6 against 4
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 6>> x) {
#ifdef VALID
  rill::split<3, 1>(x);
#else
  rill::split<4, 1>(x);
#endif
}
