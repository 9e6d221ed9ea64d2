// expect: fuse(string[2], string[2]): a program does not compute with strings
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<std::string, 2>> s) {
  auto const less = [](auto a, auto b) { return a < b; };
#ifdef VALID
  rill::fuse(less, x, x);
#else
  rill::fuse(less, s, s);
#endif
}
