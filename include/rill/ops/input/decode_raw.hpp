// Bytes of strings as elements of a tensor.
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

/// Returns the type of one value for each string: the axes of the strings, then the axes of the value.
constexpr type for_each_string(type const& of, type const& strings, char const* why, checks expects = {}) {
  if (!expects(strings.element == dtype::string, why) || !of.has_rank() || !strings.has_rank())
    return type::of_unknown_rank(of.element);
  type y = strings.with(of.element);
  for (std::size_t i = 0; i < of.rank; ++i) y.push_back(of[i], expects);
  return y;
}

struct decode_raw_op {
  using library = void;
  static constexpr std::string_view name = "decode_raw",
                                    doc = "the bytes of each string as elements of a type, little-endian or big-endian";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes{dtype::string};
  struct attributes {
    type of;
    bool highest_first = false;
    static constexpr auto fields(auto const& take) {
      return take(field{"of", &attributes::of}, field{"highest_first", &attributes::highest_first});
    }
  };
  static constexpr type infer(attributes const& a, type const& strings, checks expects = {}) {
    expects(dtypes::numeric_or_bool.contains(a.of.element), "decode_raw: bytes can't be decoded to strings");
    expects(a.of.is_known(), "decode_raw: the extents of a string's value must be known");
    return for_each_string(a.of, strings, "decode_raw: the operand is not of strings", expects);
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns the bytes of each string as a tensor whose first axes are the axes of the strings: `decode_raw<std::uint8_t,
/// 28, 28>(records)`. Numbers are little-endian. A step fails with error(invalid_argument) that names the first string
/// of another size.
template <element T, dim... Extents, operand X> auto decode_raw(X strings) {
  return record<ops::decode_raw_op, ops::decode_raw_op::attributes{of<T, Extents...>}>(strings);
}
/// Returns the same for a type known only at run time, and for big-endian numbers.
inline value decode_raw(value strings, type const& each, bool highest_first = false) {
  return record_erased<ops::decode_raw_op>(detail::graph_of(strings), {each, highest_first}, {strings});
}

}  // namespace rill

#if RILL_DEFINITIONS
#include <algorithm>
#include <cstring>
#include "rill/io/bytes.hpp"

namespace rill::ops {

inline kernel decode_raw_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const count = static_cast<std::size_t>(rill::elements(r.inputs[0].shape()));
  auto const each = static_cast<std::size_t>(rill::elements(a.of.shape()));
  return kernel([=, element = a.of.element, turned = a.highest_first](kernel_call const& call) {
    auto const bytes = each * size_of(element);
    auto* to = call.out<char>(0);
    for (std::size_t i = 0; i < count; ++i, to += bytes) {
      auto const& from = call.in<std::string>(0)[i];
      if (from.size() != bytes)
        throw error(code::invalid_argument, "decode_raw: string " + std::to_string(i) + " has " +
                                                std::to_string(from.size()) + " bytes, and the type asks for " +
                                                std::to_string(bytes));
      from.copy(to, bytes);
      if (element == dtype::boolean) std::transform(to, to + bytes, to, [](char c) { return c != 0; });
      std::size_t const parts = dtypes::complexes.contains(element) ? 2 : 1;
      if (turned) reverse_bytes(to, each * parts, size_of(element) / parts);
    }
  });
}

}  // namespace rill::ops
#endif
