// expect: enqueue: a value is not of its component's type: float32[3] against float32[2]
#include <rill/rill.hpp>
void f(rill::queue<rill::of<float, 2>>& q, rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<float, 3>> y) {
#ifdef VALID
  q.enqueue(x);
  (void)y;
#else
  q.enqueue(y);
  (void)x;
#endif
}
