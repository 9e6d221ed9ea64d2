// expect: while_loop: the body must return the loop variables' own types: (float32[]) against (float32[], float32[])
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> x) {
#ifdef VALID
  rill::while_loop([](auto v, auto) { return v < 3.f; }, [](auto v, auto w) { return std::tuple{v + w, w}; }, x, x);
#else
  rill::while_loop([](auto v, auto) { return v < 3.f; }, [](auto v, auto w) { return v + w; }, x, x);
#endif
}
