// expect: the sources of an input function have examples of different types
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> x, rill::expr<rill::of<int>> n) {
#ifdef VALID
  rill::batch<4>(std::tuple{x, n}, std::tuple{x * 2.f, n});
#else
  rill::batch<4>(std::tuple{x}, std::tuple{n});
#endif
}
