// expect: a graph is not printed as it is: rill::dot(g) of <rill/graph/dot.hpp> is its text
#include <rill/rill.hpp>
void f(std::ostream& to, rill::graph const& g) {
#ifdef VALID
  to << &g;
#else
  to << g;
#endif
}
