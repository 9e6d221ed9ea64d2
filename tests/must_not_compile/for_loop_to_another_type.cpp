// expect: for_loop: the body must return the loop variables' own types: (int32[]) against (float32[])
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> x) {
#ifdef VALID
  rill::for_loop(0, 3, 1, [](auto i, auto sum) { return sum + rill::cast<float>(i); }, x);
#else
  rill::for_loop(0, 3, 1, [](auto i, auto) { return i; }, x);
#endif
}
