// expect: cond: the lambdas must return values of the graph: one, or a tuple of them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<bool>> p, rill::expr<rill::of<float>> x) {
#ifdef VALID
  rill::cond(p, [&] { return std::tuple{x, -x}; }, [&] { return std::tuple{x, x}; });
#else
  rill::cond(p, [&] { return std::tuple{x, 1}; }, [&] { return std::tuple{x, 2}; });
#endif
}
