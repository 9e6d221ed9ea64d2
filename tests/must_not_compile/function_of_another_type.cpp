// expect: a function's argument does not have the declared type: (float32[3]) against (float32[2])
#include <rill/rill.hpp>
void f(rill::graph& g, rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<float, 3>> y) {
  auto const half = rill::function<"half", rill::of<float, 2>>(g, [](auto a) { return a * 0.5f; });
#ifdef VALID
  half(x);
  (void)y;
#else
  half(y);
  (void)x;
#endif
}
