// expect: fuse: the lambda's numbers are known when a step runs. Functions that docs/guide.md lists take them, by names
// without std::; select takes the place of if and ?:, and all are of one element type
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x) {
#ifdef VALID
  rill::fuse([](auto a) { return abs(a); }, x);
#else
  rill::fuse([](auto a) { return std::abs(a); }, x);
#endif
}
