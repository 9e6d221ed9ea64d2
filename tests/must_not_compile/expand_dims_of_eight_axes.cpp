// expect: expand_dims(float32[1, 1, 1, 1, 1, 1, 1, n]): a tensor's rank is at most 8
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 1, 1, 1, 1, 1, 1, "n">> seven,
       rill::expr<rill::of<float, 1, 1, 1, 1, 1, 1, 1, "n">> eight) {
#ifdef VALID
  rill::expand_dims<0>(seven);
  (void)eight;
#else
  rill::expand_dims<0>(eight);
  (void)seven;
#endif
}
