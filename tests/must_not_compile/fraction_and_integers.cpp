// expect: a fractional number can't be combined with integers: cast one of them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<int, 2>> n) {
#ifdef VALID
  n * 2;
#else
  n * 0.5;
#endif
}
