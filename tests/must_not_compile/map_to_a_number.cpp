// expect: map: the lambda must return a value of the graph, or a tuple of them
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3, 2>> x) {
#ifdef VALID
  rill::map([](auto row) { return std::tuple{row, row + 1.f}; }, x);
#else
  rill::map([](auto row) { return std::tuple{row, 1.f}; }, x);
#endif
}
