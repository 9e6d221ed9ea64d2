// expect: axes with the same name have different extents in a function's arguments: (float32[2], float32[3])
// against (float32[n], float32[n])
#include <rill/rill.hpp>
void f(rill::graph& g, rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<float, 3>> y) {
  auto const product =
      rill::function<"product", rill::of<float, "n">, rill::of<float, "n">>(g, [](auto a, auto b) { return a * b; });
#ifdef VALID
  product(x, x);
  (void)y;
#else
  product(x, y);
#endif
}
