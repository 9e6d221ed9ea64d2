// expect: the tuple that a loop's, branch's or function's lambda returns must hold values of the graph
#include <rill/rill.hpp>
void f(rill::expr<rill::of<bool>> p, rill::expr<rill::of<float>> x) {
#ifdef VALID
  rill::cond(p, [&] { return std::tuple{x, -x}; }, [&] { return std::tuple{x, x}; });
#else
  rill::cond(p, [&] { return std::tuple{x, 1}; }, [&] { return std::tuple{x, 2}; });
#endif
}
