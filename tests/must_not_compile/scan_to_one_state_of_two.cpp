// expect: scan, fold: the lambda must return the state's own type: float32[] against (float32[], int32[])
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3>> x) {
#ifdef VALID
  rill::scan([](auto sum, auto count, auto v) { return std::tuple{sum + v, count + 1}; }, std::tuple{0.f, 0}, x);
#else
  rill::scan([](auto sum, auto, auto v) { return sum + v; }, std::tuple{0.f, 0}, x);
#endif
}
