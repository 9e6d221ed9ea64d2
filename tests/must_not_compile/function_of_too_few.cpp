// expect: a function must be called with the declared number of arguments
#include <rill/rill.hpp>
void f(rill::graph& g, rill::expr<rill::of<float>> x) {
  auto const product =
      rill::function<"product", rill::of<float>, rill::of<float>>(g, [](auto a, auto b) { return a * b; });
#ifdef VALID
  product(x, x);
#else
  product(x);
#endif
}
