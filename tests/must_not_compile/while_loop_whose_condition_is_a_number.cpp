// expect: while_loop: the condition must be a scalar of bool: float32[] against bool[]
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> x) {
#ifdef VALID
  rill::while_loop([](auto v) { return v < 3.f; }, [](auto v) { return v + 1.f; }, x);
#else
  rill::while_loop([](auto v) { return v - 3.f; }, [](auto v) { return v + 1.f; }, x);
#endif
}
