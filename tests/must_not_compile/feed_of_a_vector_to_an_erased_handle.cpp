// expect: feed: what is fed is a tensor, as rill::vector, rill::matrix, tensor::copy, adopt and borrow make it
#include <rill/rill.hpp>
rill::tensor f(rill::session& s, rill::value x, std::vector<float> const& numbers) {
#ifdef VALID
  return s.run({{x, rill::vector(numbers)}}, x);
#else
  return s.run({{x, numbers}}, x);
#endif
}
