// expect: tensors have no comparisons: rill::same_bits(a, b) compares all elements, t.item<float>() is a
// expect: number, and handles of a graph are compared element by element
#include <rill/rill.hpp>
bool f(rill::tensor const& t) {
#ifdef VALID
  return t.item<float>() < 3.f;
#else
  return t < 3.f;
#endif
}
