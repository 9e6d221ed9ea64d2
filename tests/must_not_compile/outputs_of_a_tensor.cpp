// expect: outputs: an output is a handle, or an operation that the step runs
#include <rill/rill.hpp>
void f(rill::session& s, rill::value x, rill::tensor const& t) {
#ifdef VALID
  s.run({{x, t}}, rill::outputs(x));
#else
  s.run({{x, t}}, rill::outputs(x, t));
#endif
}
