// expect: a handle goes with handles and numbers
#include <rill/rill.hpp>
void f(rill::value x) {
#ifdef VALID
  (void)(1 + x);
#else
  (void)("a" + x);
#endif
}
