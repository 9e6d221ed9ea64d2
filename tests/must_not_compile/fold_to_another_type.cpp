// expect: scan, fold: the lambda must return the state's own type: (float32[], float32[2]) against float32[]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> first, rill::expr<rill::of<float, 3, 2>> x) {
#ifdef VALID
  rill::fold([](auto state, auto row) { return state + rill::sum(row); }, first, x);
#else
  rill::fold([](auto state, auto row) { return std::tuple{state, row}; }, first, x);
#endif
}
