// expect: function: the lambda must return what the function is declared to return: float32[] against (float32[],
// float32[])
#include <rill/rill.hpp>
void f(rill::graph& g) {
  using rill::of;
#ifdef VALID
  rill::function<"f", rill::returns(of<float>, of<float>)(of<float>)>(g, [](auto a) { return std::tuple{a, a}; });
#else
  rill::function<"f", rill::returns(of<float>, of<float>)(of<float>)>(g, [](auto a) { return a; });
#endif
}
