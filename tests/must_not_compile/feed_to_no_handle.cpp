// expect: feed: a tensor is fed to a handle of the graph, or to a name such as "name:port"
#include <rill/rill.hpp>
rill::tensor f(rill::session& s, rill::value x, rill::tensor const& t) {
#ifdef VALID
  return s.run({{x, t}}, x);
#else
  return s.run({{t, t}}, x);
#endif
}
