// expect: cond: the predicate must be a scalar of bool: float32[] against bool[]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> x) {
#ifdef VALID
  rill::cond(x > 0.f, [&] { return x; }, [&] { return -x; });
#else
  rill::cond(x, [&] { return x; }, [&] { return -x; });
#endif
}
