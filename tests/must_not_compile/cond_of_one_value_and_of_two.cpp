// expect: cond: the two branches must return values of the same types: (float32[2], float32[2]) against float32[2]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<bool>> p, rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  rill::cond(p, [&] { return std::tuple{x, -x}; }, [&] { return std::tuple{x, x}; });
#else
  rill::cond(p, [&] { return std::tuple{x, -x}; }, [&] { return x; });
#endif
}
