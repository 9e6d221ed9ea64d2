// expect: case_: a branch without predicate must come last, for when no predicate is true
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float>> x) {
  auto const same = [&] { return x; };
#ifdef VALID
  rill::case_(std::pair{x < 0.f, same}, std::pair{x < 1.f, same}, same);
#else
  rill::case_(std::pair{x < 0.f, same}, std::pair{x < 1.f, same});
#endif
}
