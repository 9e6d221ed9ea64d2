// What random operations with a parameter for each number share.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/random/drawing.hpp"

namespace rill::ops {

/// A call of such a kernel: number i is a function of the stream, of i and of parameter i alone.
struct parameter_table {
  std::array<void (*)(random_stream const&, void const* parameters, void* to, std::size_t n, parallel const&),
             dtype_count>
      run{};
};

/// The rules of an operation that draws a number for each parameter, in the parameters' type.
template <class Op> struct drawn_by_parameter {
  static constexpr std::int8_t arity = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  static constexpr std::string_view draws_random = "key";
  static constexpr dtypes elements = dtypes::floats, common = common_floats;
  struct attributes {
    std::int64_t key = 0;
    static constexpr auto fields(auto const& take) { return take(field{"key", &attributes::key}); }
  };
  using kernels = parameter_table;
  static constexpr type infer(attributes const&, type const& parameter, checks expects = {}) {
    expects(elements.contains(parameter.element), Op::of_others);
    return parameter;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const key = static_cast<std::uint64_t>(decode<attributes>(r.at.attributes).key);
    auto const element = r.inputs[0].element;
    auto const run = kernels_of<Op>(element).run[static_cast<std::size_t>(element)];
    auto const n = static_cast<std::size_t>(rill::elements(r.outputs[0].shape()));
    return kernel([run, n, stream = random_stream{random_stream::key_of(r.seed, key), 0}](kernel_call const& call) {
      auto with = stream;
      with.step = call.step.stream;
      run(with, call.in(0), call.out(0), n, call.threads);
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill::detail {

/// Draws a number for each element of `parameter`.
template <class Op, class X> X draw_by(X parameter) {
  auto& g = graph_of(parameter);
  if constexpr (typed<X>) {
    static_assert(is_float(X::static_type.element), "the parameters of random numbers are floats: cast them");
    provide_kernels<Op, X::static_type.element>();
  }
  return X{record_erased<Op>(g, {random_key(g)}, {parameter})};
}
/// Returns a parameter as an array of a type whose extents are known.
inline value equal_parameters(graph& g, type const& of, double parameter) {
  expects(is_float(of.element), "only floats are drawn: cast them");
  return fill(constant(g, number_as(of.element, parameter)), of.shape());
}

}  // namespace rill::detail
