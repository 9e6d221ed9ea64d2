// expect: reshape(float32[n, 8, 8]): the number of elements changes: 64 against 63
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n", 8, 8>> x) {
#ifdef VALID
  rill::reshape<"n", 64>(x);
#else
  rill::reshape<"n", 63>(x);
#endif
}
