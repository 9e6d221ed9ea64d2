// expect: start: fetches are handles, operations, names or rill::outputs(...);
// expect: options are a timeout, a std::stop_token, an observe and a client
#include <rill/rill.hpp>
void f(rill::session& s, rill::value x) {
#ifdef VALID
  s.start({}, x, [](auto) {});
#else
  s.start({}, x, 3, [](auto) {});
#endif
}
