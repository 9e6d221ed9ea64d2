// expect: run: fetches are handles, operations, names, rill::outputs(...) or one std::vector<rill::value>;
// expect: options are a timeout, a std::stop_token, an observe and a client
#include <rill/rill.hpp>
void f(rill::session& s, rill::value x) {
#ifdef VALID
  s.run({}, x);
#else
  s.run({}, x, 3);
#endif
}
