// expect: run: feeds are a list of pairs, in braces of their own: run({{x, t}}, y)
#include <rill/rill.hpp>
void f(rill::session& s, rill::value x, rill::value y, rill::tensor t) {
#ifdef VALID
  s.run({{x, t}}, y);
  s.run({x, y});
  s.run({}, y);
  s.run({{x, 1.f}}, y);
#else
  s.run({x, t}, y);
#endif
}
