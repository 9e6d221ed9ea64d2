// expect: split_lengths(float32[3]): the sum of the lengths is not the extent of the axis: 2 against 3
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3>> x) {
#ifdef VALID
  rill::split_lengths<rill::extents{1, 2}>(x);
#else
  rill::split_lengths<rill::extents{1, 1}>(x);
#endif
}
