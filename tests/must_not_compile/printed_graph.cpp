// expect: a graph has no operator<<: rill::dot(g) of <rill/graph/dot.hpp> returns it as text
#include <rill/rill.hpp>
void f(std::ostream& to, rill::graph const& g) {
#ifdef VALID
  to << &g;
#else
  to << g;
#endif
}
