// expect: a fractional number meets an integer expression: cast one of them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<int, 2>> n) {
#ifdef VALID
  n * 2;
#else
  n * 0.5;
#endif
}
