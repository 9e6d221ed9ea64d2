// expect: a loss: expected x [..., classes] and labels [...]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 8, 10>> scores, rill::expr<rill::of<int, 8>> labels,
       rill::expr<rill::of<int, 8, 10>> rows) {
#ifdef VALID
  rill::nll(scores, labels);
  (void)rows;
#else
  rill::nll(scores, rows);
  (void)labels;
#endif
}
