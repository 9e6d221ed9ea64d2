// Prints a value when it is computed.
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct print_op {
  using library = void;
  static constexpr std::string_view name = "print",
                                    doc = "x; sends a message and x, formatted as by NumPy, to the session's log";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr bool forwards_input = true;
  struct attributes {
    std::string message;
    static constexpr auto fields(auto const& take) { return take(field{"message", &attributes::message}); }
  };
  static constexpr type infer(attributes const&, type const& x) { return x; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) { return {V(r.dy())}; }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns x. Each time it is computed, the message and x are passed to the session's log callback, if there is one.
template <operand X> X print(X x, std::string_view message = {}) try {
  return X{record_erased<ops::print_op>(detail::graph_of(x), {std::string(message)}, {x})};
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/device/step.hpp"
#include "rill/tensor/elements.hpp"
#include "rill/tensor/print.hpp"

namespace rill::ops {

inline kernel print_op::cpu(kernel_request const& r) {
  auto const x = r.inputs[0];
  auto const n = static_cast<std::size_t>(elements(x.shape()));
  kernel k([=, message = decode<attributes>(r.at.attributes).message](kernel_call const& call) {
    if (call.step.log != nullptr && *call.step.log) {
      (*call.step.log)(message + text(tensor::borrow(x, call.in(0))));
    }
    if (call.in(0) != call.out(0)) copy_elements(x.element, call.out(0), call.in(0), n);
  });
  if (x.element != dtype::string) k.input_output_aliases = {{0, 0}};
  return k;
}

}  // namespace rill::ops
#endif
