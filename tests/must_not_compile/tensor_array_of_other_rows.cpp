// expect: tensor_array: the values do not have the type of the array's rows
#include <rill/rill.hpp>
void f(rill::graph& g, rill::expr<rill::of<int>> i, rill::expr<rill::of<float, 3>> row,
       rill::expr<rill::of<float, 2>> other) {
  rill::tensor_array<rill::of<float, 3>> const a(g, 4);
#ifdef VALID
  a.write(i, row);
#else
  a.write(i, other);
#endif
  static_cast<void>(other), static_cast<void>(row);
}
