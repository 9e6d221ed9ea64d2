// expect: feed: a list of lists is not a tensor; rill::matrix({{...}, {...}}) makes one of it
#include <rill/rill.hpp>
rill::tensor f(rill::session& s, rill::expr<rill::of<float, 2, 2>> x) {
#ifdef VALID
  return s.run({{x, rill::matrix({{1.f, 2.f}, {3.f, 4.f}})}}, x);
#else
  return s.run({{x, {{1.f, 2.f}, {3.f, 4.f}}}}, x);
#endif
}
