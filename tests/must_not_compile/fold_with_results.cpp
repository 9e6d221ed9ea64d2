// expect: fold: the lambda must return the next state alone; scan stacks results beside it
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3>> x) {
  auto const step = [](auto sum, auto v) { return std::pair{sum + v, v * v}; };
#ifdef VALID
  rill::scan(step, 0.f, x);
#else
  rill::fold(step, 0.f, x);
#endif
}
