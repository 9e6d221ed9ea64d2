// expect: split(float32[2, 6]): the extent of the axis is not a multiple of the number of parts: 6 against 4
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, 6>> x) {
#ifdef VALID
  rill::split<3, 1>(x);
#else
  rill::split<4, 1>(x);
#endif
}
