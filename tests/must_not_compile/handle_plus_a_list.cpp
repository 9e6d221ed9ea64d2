// expect: a handle goes with handles and numbers: rill::constant(g, rill::vector({...})) is a handle with a list
#include <rill/rill.hpp>
void f(rill::graph& g, rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  (void)(x + rill::constant(g, rill::vector({1.f, 2.f})));
#else
  (void)g;
  (void)(x + std::vector<float>{1, 2});
#endif
}
