// expect: constant: every extent must be a number
#include <rill/rill.hpp>
void f(rill::graph& g) {
#ifdef VALID
  rill::constant<float, 2>(g, {1, 2});
#else
  rill::constant<float, "n">(g, {1, 2});
#endif
}
