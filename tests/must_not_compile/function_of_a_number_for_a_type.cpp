// expect: function: it is declared by the types of its arguments, or by one signature: of<int>(of<int>)
#include <rill/rill.hpp>
void f(rill::graph& g) {
#ifdef VALID
  rill::function<"f", rill::of<float, 3>>(g, [](auto a) { return a; });
#else
  rill::function<"f", 3>(g, [](auto a) { return a; });
#endif
}
