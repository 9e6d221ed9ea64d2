// expect: feed: a list or an array is not a tensor; rill::vector({...}) makes one of it
#include <rill/rill.hpp>
rill::tensor f(rill::session& s, rill::value x) {
#ifdef VALID
  return s.run({{x, rill::vector({1.f, 2.f})}, {x, {1.f}}}, x);
#else
  return s.run({{x, {1.f, 2.f}}}, x);
#endif
}
