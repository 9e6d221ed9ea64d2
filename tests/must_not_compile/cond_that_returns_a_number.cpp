// expect: cond: the lambdas must return values of the graph: one, or a tuple of them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<bool>> p, rill::expr<rill::of<float>> x) {
#ifdef VALID
  rill::cond(p, [&] { return x; }, [&] { return -x; });
#else
  rill::cond(p, [&] { return 1.f; }, [&] { return 2.f; });
  (void)x;
#endif
}
