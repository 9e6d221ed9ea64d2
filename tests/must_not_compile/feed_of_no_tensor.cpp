// expect: feed: what is fed is a tensor, as rill::vector, rill::matrix, tensor::copy, adopt and borrow make it
#include <rill/rill.hpp>
auto f(rill::session& s, rill::expr<rill::of<float, 2>> x, std::vector<float> const& numbers) {
#ifdef VALID
  return s.run({{x, rill::tensor::copy<float>(numbers, {2})}}, x);
#else
  return s.run({{x, numbers}}, x);
#endif
}
