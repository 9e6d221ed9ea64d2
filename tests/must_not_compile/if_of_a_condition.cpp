// expect: a condition of the graph is known when a step runs, not while the graph is recorded: cond, select and
// while_loop take it; &, | and ~ combine several
#include <rill/rill.hpp>
int f(rill::expr<rill::of<float>> loss) {
#ifdef VALID
  return loss ? 1 : 0;
#else
  return loss < 0.5f ? 1 : 0;
#endif
}
