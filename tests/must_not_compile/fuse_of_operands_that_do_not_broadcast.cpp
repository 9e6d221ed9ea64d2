// expect: fuse(float32[2], float32[3]): the operands' extents do not broadcast: they are neither equal nor 1: 2 against
// 3
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<float, 3>> y) {
#ifdef VALID
  rill::fuse([](auto a, auto b) { return a + b; }, x, x);
  (void)y;
#else
  rill::fuse([](auto a, auto b) { return a + b; }, x, y);
#endif
}
