// Ends a step if a number is not finite.
#pragma once
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"

namespace rill::ops {

struct check_numerics_op {
  using library = void;
  static constexpr std::string_view name = "check_numerics",
                                    doc = "x; fails if an element is NaN or infinite, and names the first one";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  struct attributes {
    std::string message;
    static constexpr auto fields(auto const& take) { return take(field{"message", &attributes::message}); }
  };
  /// The index of the first element that is not finite, or n.
  struct kernels {
    std::array<std::size_t (*)(void const* x, std::size_t n, parallel const&), dtype_count> find{};
  };
  template <class Any>  // clang 19 can't make attributes with a string in a constant expression
  static constexpr type infer(Any const&, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "check_numerics: the operand is not of floats or complex numbers");
    return x;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {check_numerics(V(r.dy()), decode<attributes>(r.origin().attributes).message + " (its gradient)")};
  }
  static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns x. The step fails with error(invalid_argument) if an element is NaN or infinite; the error begins with the
/// message and has the index of the first such element. The derivative is checked, too.
template <operand X> X check_numerics(X x, std::string_view message = {}) try {
  if constexpr (typed<X>) detail::result_types<ops::check_numerics_op, no_attributes{}, X>();
  return X{record_erased<ops::check_numerics_op>(detail::graph_of(x), {std::string(message)}, {x})};
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill

#include "rill/ops/check/check_numerics.ipp"
