// expect: function: the lambda must return what the function is declared to return: bool[] against float32[]
#include <rill/rill.hpp>
void f(rill::graph& g) {
#ifdef VALID
  rill::function<"f", rill::of<float>(rill::of<float>)>(g, [](auto a) { return a * 2.f; });
#else
  rill::function<"f", rill::of<float>(rill::of<float>)>(g, [](auto a) { return a < 2.f; });
#endif
}
