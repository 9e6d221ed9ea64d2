// Several elementwise functions as one operation: a user's lambda, or a group from the fusion pass.
#pragma once
#include "rill/base/fixed_string.hpp"
#include "rill/ops/list/symbol.hpp"

namespace rill::ops {

/// Returns the program of a fused node.
inline program const& program_of(node const& n) {
  return *detail::attribute_as<std::shared_ptr<program const>>(n.attributes, "program");
}

struct fused_op {
  using library = void;
  static constexpr std::string_view
      name = "fused",
      doc = "an elementwise program over operands that broadcast; its derivative is the derivative of its instructions";
  static constexpr std::int8_t arity = -1;
  struct attributes {
    std::shared_ptr<program const> what;
    static constexpr auto fields(auto const& take) { return take(field{"program", &attributes::what}); }
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> inputs);
  static cost work(attributes const& a, std::span<type const> inputs, std::span<type const> outputs);
  template <class V> static std::vector<gradient> grad(gradient_request const& r);
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Records the instructions of a program as separate operations, from which its derivative is taken.
std::vector<value> unfused(graph& g, program const& p, std::vector<value> const& inputs);

namespace detail {

#if RILL_KERNELS
// A lambda as an operation of its own, for lanes: its native kernel.
template <class F, std::size_t Arity> struct native_lambda {
  static constexpr std::int8_t arity = static_cast<std::int8_t>(Arity);
  template <class... S> static auto apply(S... x) { return F{}(x...); }
};
template <fixed_string Name, class F, dtype E, std::size_t Arity> struct native_of {
  static dtype result(dtype const*, dtype wish) { return wish; }
  static tile_function tile(dtype const* operands, dtype wish) {
    for (std::size_t i = 0; i < Arity; ++i)
      if (operands[i] != E) return nullptr;
    return wish == E ? kernels::tile<native_lambda<F, Arity>, element_of<E>> : nullptr;
  }
  static constexpr scalar_function function{Name, static_cast<std::uint8_t>(Arity), result, tile};
};

template <fixed_string Name, class F, dtype R, dtype... E> scalar_function const* native_function() {
  constexpr dtype first = std::array{E...}[0];
  if constexpr (std::is_empty_v<F> && std::is_default_constructible_v<F> && ((E == first) && ...) && R == first &&
                sizeof...(E) <= max_operands)
    return &native_of<Name, F, first, sizeof...(E)>::function;
  return nullptr;
}
#else
template <fixed_string, class, dtype, dtype...> scalar_function const* native_function() { return nullptr; }
#endif

template <class Result> struct named_operation {};
template <class Op> struct named_operation<not_by_number<Op>> {
  using type = Op;
};
template <class Result> using operation_of = typename named_operation<Result>::type;

template <class S> struct element_of_symbol;
template <dtype E> struct element_of_symbol<symbol<E>> {
  static constexpr dtype value = E;
};
template <number N>
  requires element<N>
struct element_of_symbol<N> {  // a lambda may return the same number for all
  static constexpr dtype value = dtype_of<N>;
};

/// Returns the register of a lambda's result.
template <dtype E> std::uint16_t register_of(program&, symbol<E> y) { return y.at; }
template <number N> std::uint16_t register_of(program& p, N n) { return immediate_symbol<dtype_of<N>>(&p, n).at; }

/// Returns the type of operands that broadcast.
template <type... Types> constexpr inferred<type> broadcast_together() {
  inferred<type> y{std::array{Types...}[0], {}};
  for (auto const& t : {Types...}) y.types = broadcast(y.types, t.with(y.types.element), checks(y.why));
  return y;
}

/// Returns what is wrong with a call of `fuse`; empty if nothing is. A lambda with a compile error returns nothing.
template <class Result, type... Types> constexpr sentence complaint_of_fuse() {
  constexpr auto extents = broadcast_together<Types...>();
  constexpr std::array types{Types...};
  if constexpr (((Types.element == dtype::string) || ...))
    return sentence_of("fuse", types, {"a program does not compute with strings"});
  else if constexpr (extents.refused()) return sentence_of("fuse", types, extents.why);
  else if constexpr (requires { element_of_symbol<Result>::value; }) return {};
  else if constexpr (requires { operation_of<Result>::name; })
    return sentence{} << "fuse: " << operation_of<Result>::name
                      << " does not compute number by number: call it outside of the lambda";
  else return sentence{} << "fuse: the lambda must return one number that it computes from its arguments";
}

template <fixed_string Name, class Result, class F, class... X> auto fuse_as(F const& f, X... x) try {
  constexpr auto said = complaint_of_fuse<Result, X::static_type...>();
  if constexpr (said.size > 0) {
    named<said>().compiles();
    return refused{};
  } else {
    constexpr auto element = element_of_symbol<Result>::value;
    program p;
    p.inputs = {X::static_type.element...};
    std::uint16_t next = 0;
    std::tuple<symbol<X::static_type.element>...> symbols{symbol<X::static_type.element>{&p, next++}...};
    p.outputs = {register_of(p, std::apply(f, symbols))};
    number_registers(p);
    if constexpr (!number<Result>) p.native = native_function<Name, F, element, X::static_type.element...>();
    auto& g = graph_of(x...);
    auto made = std::make_shared<program const>(std::move(p));
    return expr<broadcast_together<X::static_type...>().types.with(element)>{
        record_erased<ops::fused_op>(g, {std::move(made)}, {x...}, std::string_view(Name))};
  }
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// Returns an operation defined by a lambda over numbers: `fuse<"swish">([](auto x, auto beta) { return x / (1.f +
/// exp(-beta * x)); }, x, beta)`. The operands broadcast. The operation runs as one kernel, has a derivative, and is
/// serialized as its program. The lambda may use all functions of numbers that docs/guide.md lists, without `rill::`.
/// It must depend only on its arguments and captures, not, for example, on a global variable: it may be called again
/// when the step runs.
template <fixed_string Name = "fused", class F, typed... X> auto fuse(F f, X... x) {
  return detail::fuse_as<Name, decltype(f(symbol<X::static_type.element>{}...))>(f, x...);
}

template <class V> std::vector<gradient> ops::fused_op::grad(gradient_request const& r) {
  auto const p = decode<attributes>(r.origin().attributes).what;
  std::vector<V> inputs;
  for (std::size_t i = 0; i < r.inputs(); ++i) inputs.push_back(r.in(i));
  auto const outputs = unfused(r.graph, *p, inputs);
  std::vector<value> wanted;
  for (std::size_t i = 0; i < r.inputs(); ++i)
    if (r.wanted[i]) wanted.push_back(inputs[i]);
  auto const parts = r.differentiate({outputs.begin(), outputs.end()}, wanted, r.outer);
  std::vector<gradient> all(r.inputs());
  for (std::size_t i = 0, next = 0; i < r.inputs(); ++i)
    if (r.wanted[i]) all[i] = parts[next++];
  return all;
}

#if RILL_RUNTIME

namespace ops {

RILL_INLINE std::vector<type> fused_op::infer(attributes const& a, std::span<type const> inputs) {
  if (a.what == nullptr) throw error(code::invalid_argument, "fused: the program is missing");
  verify(*a.what);
  expects(a.what->inputs.size() == inputs.size(), "fused: the program takes another number of inputs");
  type y = inputs[0];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    expects(a.what->inputs[i] == inputs[i].element, "fused: an input has another element type than the program's");
    y = broadcast(y, inputs[i]);
  }
  std::vector<type> outputs;
  for (auto o : a.what->outputs) outputs.push_back(y.with(a.what->element(o)));
  return outputs;
}

RILL_INLINE cost fused_op::work(attributes const& a, std::span<type const> inputs, std::span<type const> outputs) {
  double const each =
      outputs.empty() || !outputs[0].is_known() ? 0 : static_cast<double>(rill::elements(outputs[0].shape()));
  return {each * static_cast<double>(a.what->instructions.size()),
          rill::detail::bytes_of(inputs) + rill::detail::bytes_of(outputs)};
}

RILL_INLINE kernel fused_op::cpu(kernel_request const& r) {
  auto const& p = program_of(r.at);
  return p.native == nullptr ? rill::detail::make_kernel(p, r) : rill::detail::make_kernel(*p.native, r);
}

}  // namespace ops

RILL_INLINE std::vector<value> unfused(graph& g, program const& p, std::vector<value> const& inputs) {
  std::vector<value> registers = inputs;
  for (auto const& i : p.immediates)
    registers.push_back(constant(g, visit(i.element, [&]<class T>() -> tensor {
                                   if constexpr (std::same_as<T, std::string>)
                                     throw error(code::internal, "a program carries a string");
                                   else {
                                     T v;
                                     std::memcpy(&v, i.bytes.data(), sizeof(T));
                                     return tensor(v);
                                   }
                                 })));
  for (auto const& line : p.instructions) {
    std::vector<value> operands;
    for (std::size_t k = 0; k < line.function->arity; ++k) operands.push_back(registers[line.operands[k]]);
    auto const* op = line.function->operation;
    if (op == nullptr)
      throw error(code::unimplemented,
                  "the function " + std::string(line.function->name) + " can't be recorded by itself");
    attribute_list attributes;
    if (!op->result_element.empty()) attributes.emplace_back(op->result_element, line.result);
    registers.push_back(g.add(*op, std::move(attributes), operands));
  }
  std::vector<value> outputs;
  for (auto o : p.outputs) outputs.push_back(registers[o]);
  return outputs;
}

#endif

}  // namespace rill
