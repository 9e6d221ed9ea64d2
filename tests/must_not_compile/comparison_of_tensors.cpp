// expect: tensors have no comparisons: rill::same_bits(a, b) compares all elements, t.item<float>() is a
// expect: number, and handles of a graph are compared element by element
#include <rill/rill.hpp>
bool f(rill::tensor const& a, rill::tensor const& b) {
#ifdef VALID
  return rill::same_bits(a, b);
#else
  return a == b;
#endif
}
