// expect: map: the lambda must return one value
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3, 2>> x) {
#ifdef VALID
  rill::map([](auto row) { return row + 1.f; }, x);
#else
  rill::map([](auto row) { return std::tuple{row, row}; }, x);
#endif
}
