// Bytes of strings as numbers.
#pragma once
#include "rill/dsl/expr.hpp"

#if RILL_DEFINITIONS
#include <algorithm>
#include <cstring>

#include "rill/io/bytes.hpp"
#endif

namespace rill::ops {

/// The type of a value for each string: the strings' extents, then the value's own.
constexpr type for_each_string(type const& of, type const& strings, char const* why, checks expects = {}) {
  expects(strings.element == dtype::string, why);
  if (!strings.has_rank()) return type::of_unknown_rank(of.element);
  type y = strings.with(of.element);
  for (std::size_t i = 0; i < of.rank; ++i) y.push_back(of[i]);
  return y;
}

struct decode_raw_op {
  using library = void;
  static constexpr std::string_view name = "decode_raw",
                                    doc =
                                        "the bytes of each string as the elements of a type, the lowest byte first "
                                        "or the highest";
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
    expects(dtypes::numeric_or_bool.contains(a.of.element), "decode_raw: bytes are made numbers, not strings");
    expects(a.of.is_known(), "decode_raw: the extents of what a string holds are not known");
    return for_each_string(a.of, strings, "decode_raw: the bytes of strings are decoded, not of numbers", expects);
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
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
#endif
};

}  // namespace rill::ops

namespace rill {

/// The bytes of each string as a tensor, behind the strings' own extents: `decode_raw<std::uint8_t, 28, 28>(records)`.
/// Each string must have just as many bytes, the lowest of each number first; a step fails with error(invalid_argument)
/// that says which has not.
template <element T, dim... Extents, operand X> auto decode_raw(X strings) {
  return record<ops::decode_raw_op, ops::decode_raw_op::attributes{of<T, Extents...>}>(strings);
}
/// The same for a type that only the run of the program knows, and for numbers whose highest byte comes first.
inline value decode_raw(value strings, type const& each, bool highest_first = false) {
  return record_erased<ops::decode_raw_op>(detail::graph_of(strings), {each, highest_first}, {strings});
}

}  // namespace rill
