// Makes the table of functions that graphs refer to from an operation's struct and its rules.
#pragma once
#include <array>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/graph/gradient.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill {

namespace detail {

template <class Op>
concept in_library = requires { typename Op::library; };

template <class Op> struct attributes_of {
  using type = no_attributes;
};
template <class Op>
  requires requires { typename Op::attributes; }
struct attributes_of<Op> {
  using type = typename Op::attributes;
};

/// Calls an operation's inference, whatever its arity: `infer(attributes, x, y)`, or `infer(attributes, span)` for any
/// number of inputs; passes `expects` on if the inference takes it. Returns a type, or an array of types.
template <class Op, class Attributes>
constexpr auto infer(Attributes const& a, std::span<type const> inputs, checks expects = {}) {
  if constexpr (requires { Op::infer(a, inputs, expects); }) return Op::infer(a, inputs, expects);
  else if constexpr (requires { Op::infer(a, inputs); }) return Op::infer(a, inputs);
  else
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      if constexpr (requires { Op::infer(a, inputs[Index]..., expects); })
        return Op::infer(a, inputs[Index]..., expects);
      else return Op::infer(a, inputs[Index]...);
    }(std::make_index_sequence<static_cast<std::size_t>(Op::arity)>{});
}

/// The result of inference while a program compiles: the types of the results, or why the operands are refused.
template <class Types> struct inferred {
  Types types;
  mismatch why;
  constexpr bool refused() const { return why.why != nullptr; }
};
template <class Op, class Attributes>
constexpr auto infer_or_refuse(Attributes const& a, std::span<type const> inputs) {
  mismatch why;
  auto const types = infer<Op>(a, inputs, checks(why));
  return inferred<std::remove_cvref_t<decltype(types)>>{types, why};
}

template <class Op> constexpr std::size_t output_count() {
  if constexpr (requires { Op::outputs; }) return Op::outputs;
  else return 1;
}

}  // namespace detail

/// The type of an operation's attributes; `no_attributes` if it has none.
template <class Op> using attributes_of = typename detail::attributes_of<Op>::type;

namespace detail {

template <class Attributes> void encode_erased(void const* attributes, attribute_list& to) {
  encode(*static_cast<Attributes const*>(attributes), to);
}

void assign_types(std::vector<type>& out, std::span<type const>);

template <class Op>
void infer_erased(attribute_list const& list, std::span<type const> inputs, std::vector<type>& out) {
  auto const result = infer<Op>(decode<rill::attributes_of<Op>>(list), inputs);
  if constexpr (std::same_as<std::remove_cvref_t<decltype(result)>, type>) assign_types(out, {&result, 1});
  else assign_types(out, result);
}

/// Return the number of elements, and of bytes, of those types whose extents are known.
double elements_of(std::span<type const>);
double bytes_of(std::span<type const>);

/// Returns the work of an operation; by default it reads its inputs and writes its outputs, and takes `flops` for each
/// element.
template <class Op>
cost work_erased(attribute_list const& list, std::span<type const> inputs, std::span<type const> outputs) {
  if constexpr (requires { Op::work(decode<rill::attributes_of<Op>>(list), inputs, outputs); })
    return Op::work(decode<rill::attributes_of<Op>>(list), inputs, outputs);
  else {
    double flops = 0;
    if constexpr (requires { Op::flops; }) flops = Op::flops * elements_of(outputs);
    return {flops, bytes_of(inputs) + bytes_of(outputs)};
  }
}

#if RILL_RUNTIME
RILL_INLINE void assign_types(std::vector<type>& out, std::span<type const> from) {
  out.assign(from.begin(), from.end());
}

RILL_INLINE double elements_of(std::span<type const> types) {
  double count = 0;
  for (auto const& t : types)
    if (t.is_known()) count += static_cast<double>(elements(t.shape()));
  return count;
}

RILL_INLINE double bytes_of(std::span<type const> types) {
  double bytes = 0;
  for (auto const& t : types)
    if (t.is_known()) bytes += static_cast<double>(elements(t.shape())) * static_cast<double>(size_of(t.element));
  return bytes;
}
#endif

template <class Attributes>
inline constexpr auto attribute_names =
    Attributes::fields([](auto... f) { return std::array<std::string_view, sizeof...(f)>{f.name...}; });

template <class Owner, class T> constexpr auto member_of(field<Owner, T>) { return std::type_identity<T>{}; }

/// Whether there is an attribute with this name that is kept as a T.
template <class Attributes, class T> constexpr bool has_attribute(std::string_view name) {
  return Attributes::fields([&](auto... f) {
    return ((f.name == name && std::same_as<kept_as<typename decltype(member_of(f))::type>, T>) || ...);
  });
}

template <class Op> constexpr op_def make_definition() {
  op_def d;
  d.name = Op::name;
  if constexpr (requires { Op::doc; }) d.doc = Op::doc;
  d.arity = Op::arity;
  d.outputs = static_cast<std::uint8_t>(output_count<Op>());
  if constexpr (requires { Op::kind; }) d.kind = Op::kind;
  if constexpr (requires { Op::effect; }) d.effect = Op::effect;
  if constexpr (requires { Op::commutes; }) d.commutes = Op::commutes;
  if constexpr (requires { Op::aliases_input; }) d.aliases_input = Op::aliases_input;
  if constexpr (requires { Op::forwards_input; }) d.forwards_input = Op::forwards_input;
  if constexpr (requires { Op::updates_in_place; }) d.updates_in_place = Op::updates_in_place;
  if constexpr (requires { Op::by_reference; }) d.by_reference = Op::by_reference;
  if constexpr (requires { Op::reference_or_value; }) d.reference_or_value = Op::reference_or_value;
  if constexpr (requires { Op::uses_value_extents; }) d.uses_value_extents = Op::uses_value_extents;
  if constexpr (requires { Op::resizes; }) d.resizes = Op::resizes;
  if constexpr (requires { Op::constant_value; }) d.constant_value = Op::constant_value;
  if constexpr (requires { Op::declared_type; }) d.declared_type = Op::declared_type;
  if constexpr (requires { Op::result_element; }) d.result_element = Op::result_element;
  if constexpr (requires { Op::counts_references; }) d.counts_references = Op::counts_references;
  if constexpr (requires { Op::counts_updates; }) d.counts_updates = Op::counts_updates;
  if constexpr (requires { Op::shape_only; }) d.shape_only = Op::shape_only;
  if constexpr (requires { Op::waits; }) d.waits = Op::waits;
  if constexpr (requires { Op::rendezvous; }) d.rendezvous = Op::rendezvous;
  if constexpr (requires { Op::rendezvous_role; }) d.rendezvous_role = Op::rendezvous_role;
  if constexpr (requires { Op::back_edge; }) d.back_edge = Op::back_edge;
  if constexpr (requires { Op::draws_random; }) d.draws_random = Op::draws_random;
  if constexpr (requires { Op::dynamic_output_shape; }) d.dynamic_output_shape = Op::dynamic_output_shape;
  if constexpr (requires { Op::stops_gradient; }) d.stops_gradient = Op::stops_gradient;
  if constexpr (requires { Op::wide_gradient; }) {
    d.wide_gradient = Op::wide_gradient;
    if constexpr (requires {
                    Op::elements.contains(dtype::float32);
                  })  // an operation of 16-bit floats alone gets them as they are
      d.wide_gradient = Op::wide_gradient && Op::elements.contains(dtype::float32);
  }
  if constexpr (requires { Op::function(); }) d.elementwise = &Op::function();
  d.attributes = attribute_names<rill::attributes_of<Op>>;
  d.encode = encode_erased<rill::attributes_of<Op>>;
  d.infer = infer_erased<Op>;
  d.work = work_erased<Op>;
  if constexpr (requires(gradient_request const& r) { Op::template grad<value>(r); }) d.grad = Op::template grad<value>;
  if constexpr (requires { &Op::paths; }) d.paths = Op::paths;
  if constexpr (requires { &Op::without_updates; }) d.without_updates = Op::without_updates;
  if constexpr (requires { Op::no_gradient; }) d.no_gradient = Op::no_gradient;
  if constexpr (requires(kernel_request const& r) { Op::cpu(r); }) d.cpu = Op::cpu;
  return d;
}

template <class Op> inline constexpr op_def defined = make_definition<Op>();

/// Returns the table of one of rill's own operations (those that declare `library`): rill::compiled contains it,
/// header-only programs instantiate it.
template <class Op>
op_def const& library_definition()
#if RILL_DEFINITIONS
{
  return defined<Op>;
}
#else
    ;
#endif

}  // namespace detail

/// Returns the operation's table of functions, of which a program has one. What a user's operation declares is checked
/// here, so that compilers print each sentence with few lines around it.
template <class Op> op_def const& definition() {
  if constexpr (detail::in_library<Op>) return detail::library_definition<Op>();
  else {
    using A = attributes_of<Op>;
    constexpr auto const& d = detail::defined<Op>;
    constexpr bool no_inputs = d.arity == 0, of_one = d.arity == 1 && d.aliases_input;
    static_assert(d.constant_value.empty() || detail::has_attribute<A, tensor>(d.constant_value),
                  "an operation's constant_value must name an attribute that is a tensor");
    static_assert(d.declared_type.empty() || detail::has_attribute<A, type>(d.declared_type),
                  "an operation's declared_type must name an attribute that is a type");
    static_assert(d.result_element.empty() || detail::has_attribute<A, dtype>(d.result_element),
                  "an operation's result_element must name an attribute that is a dtype");
    static_assert(d.counts_references.empty() || detail::has_attribute<A, std::int64_t>(d.counts_references),
                  "an operation's counts_references must name an attribute that is an integer");
    static_assert(d.counts_updates.empty() ||
                      (detail::has_attribute<A, std::int64_t>(d.counts_updates) && !d.counts_references.empty()),
                  "an operation's counts_updates must name an attribute that is an integer, and needs "
                  "counts_references");
    static_assert(d.draws_random.empty() || detail::has_attribute<A, std::int64_t>(d.draws_random),
                  "an operation's draws_random must name an attribute that is an integer: the key of its numbers");
    static_assert(d.rendezvous.empty() || detail::has_attribute<A, std::string>(d.rendezvous),
                  "an operation's rendezvous must name an attribute that is a string");
    static_assert(d.kind != op_kind::constant || (no_inputs && !d.constant_value.empty()),
                  "a constant must have no inputs and declare constant_value");
    static_assert(
        (d.kind != op_kind::variable && d.kind != op_kind::placeholder) || (no_inputs && !d.declared_type.empty()),
        "a variable or placeholder must have no inputs and declare declared_type");
    static_assert(
        (d.kind != op_kind::as && d.kind != op_kind::placeholder_with_default) || (of_one && !d.declared_type.empty()),
        "an operation of kind as or placeholder_with_default must have one input, alias it and declare "
        "declared_type");
    static_assert(d.kind != op_kind::identity || of_one, "an identity must have one input and alias it");
    static_assert((d.kind != op_kind::assign && d.kind != op_kind::initialize) ||
                      (d.arity == 2 && d.by_reference == 1 && d.effect == effect::writes),
                  "an assignment must have two inputs, take input 0, a variable, by reference, and declare "
                  "effect::writes");
    return d;
  }
}

}  // namespace rill
