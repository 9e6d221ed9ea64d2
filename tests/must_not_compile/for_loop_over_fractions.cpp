// expect: for_loop: the counter must be a scalar of int32 or int64
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> x, rill::expr<rill::of<std::int32_t>> n) {
  auto const add = [](auto, auto sum) { return sum + 1.f; };
#ifdef VALID
  rill::for_loop(0, n, 1, add, x);
#else
  rill::for_loop(0, x, 1, add, x);
  (void)n;
#endif
}
