// expect: a session has no operator<<: session.explain({}, fetches...) says what a step runs
#include <rill/rill.hpp>
void f(std::ostream& to, rill::session& s, rill::value x) {
#ifdef VALID
  to << s.explain({}, x);
#else
  to << s;
  (void)x;
#endif
}
