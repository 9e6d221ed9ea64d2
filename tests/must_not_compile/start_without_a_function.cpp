// expect: start: its last argument is called with a rill::expected of what run returns
#include <rill/rill.hpp>
void f(rill::session& s, rill::expr<rill::of<float, 3>> x) {
#ifdef VALID
  s.start({}, x, [](auto const&) {});
#else
  s.start({}, x);
#endif
}
