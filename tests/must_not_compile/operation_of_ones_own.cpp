// expect: twice(int32[2]): the operand is not of floats
#include <rill/rill.hpp>
struct twice_op {
  static constexpr std::string_view name = "twice";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::type infer(rill::no_attributes, rill::type const& x, rill::checks expects = {}) {
    expects(rill::is_float(x.element), "twice: the operand is not of floats");
    return x;
  }
};
template <rill::operand X> auto twice(X x) { return rill::record<twice_op>(x); }
void f(rill::expr<rill::of<float, 2>> x, rill::expr<rill::of<int, 2>> n) {
#ifdef VALID
  twice(x);
  (void)n;
#else
  twice(n);
  (void)x;
#endif
}
