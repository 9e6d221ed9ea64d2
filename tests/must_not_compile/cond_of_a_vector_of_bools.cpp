// expect: cond: the predicate must be a scalar of bool: bool[2] against bool[]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  rill::cond(rill::sum(x) > 0.f, [&] { return x; }, [&] { return -x; });
#else
  rill::cond(x > 0.f, [&] { return x; }, [&] { return -x; });
#endif
}
