// expect: expand_dims(float32[2]): the axis is out of range for the result's rank: axis 3 of rank 2
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  rill::expand_dims<1>(x);
#else
  rill::expand_dims<3>(x);
#endif
}
