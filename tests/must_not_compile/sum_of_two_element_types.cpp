// expect: add(float32[2], float64[2]): the operands have different element types; cast one of them
#include "rill/rill.hpp"

#ifdef VALID
using other = float;
#else
using other = double;
#endif

auto sum(rill::expr<rill::of<float, 2>> a, rill::expr<rill::of<other, 2>> b) { return a + b; }
