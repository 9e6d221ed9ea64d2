// expect: subscript(float32[2, n]): an index is out of range for its axis: 2 against 2
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2, "n">> x) {
#ifdef VALID
  rill::subscript<1, rill::all()>(x);
#else
  rill::subscript<2, rill::all()>(x);
#endif
}
