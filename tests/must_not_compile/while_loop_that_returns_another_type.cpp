// expect: while_loop: the body must return the loop variables' own types: (float64[]) against (float32[])
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> x, rill::expr<rill::of<double>> y) {
#ifdef VALID
  rill::while_loop([](auto v) { return v < 3.f; }, [](auto v) { return v + 1.f; }, x);
  (void)y;
#else
  rill::while_loop([](auto v) { return v < 3.f; }, [&](auto) { return y; }, x);
#endif
}
