// Operation that decodes lines of JSON. Needs nlohmann-json; rill/io.hpp includes it.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "rill/io/json_lines.hpp"
#include "rill/ops/input/named_fields.hpp"

namespace rill::ops {

struct decode_json_op : field_decoding {
  static constexpr std::string_view name = "decode_json",
                                    doc = "members of each string, which is a JSON object, by name";
  static constexpr type of_field(type const& one, type const& strings, checks expects = {}) {
    expects(!dtypes::complexes.contains(one.element), "decode_json: JSON has no complex numbers");
    return field_decoding::of_field(one, strings, expects);
  }
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns members of each string, a JSON object, as values whose first axes are the axes of the strings: `auto [size,
/// name] = decode_json(lines, named_field<of<float, 2>>{"size"}, named_field<of<std::string>>{"name"})`. JSON integers
/// convert to all numeric types, other numbers to floats; lists become tensors. A null member counts as missing; other
/// members are ignored. Extents may be unknown if the string is a scalar. A step fails with an error that names string
/// and member: error(not_found) if it is missing, error(invalid_argument) if it has another type or the string is not
/// JSON.
template <operand X, type First, type... T>
auto decode_json(X lines, named_field<First> const& first, named_field<T> const&... more) {
  return detail::record_fields<ops::decode_json_op>(lines, first, more...);
}
/// Returns the same for types known only at run time.
std::vector<value> decode_json(value lines, std::vector<erased_field> const& fields);

#if RILL_IO_RUNTIME

namespace ops {

RILL_IO_INLINE std::vector<type> decode_json_op::infer(attributes const& a, std::span<type const> x) {
  for (auto const& t : a.types) of_field(t, x[0]);
  return field_decoding::infer(a, x);
}

RILL_IO_INLINE kernel decode_json_op::cpu(kernel_request const& r) {
  return decoding(r, name, [](attributes const& a, std::string_view line) {
    auto members = parse_json_line(line, a.names);
    for (std::size_t i = 0; i < members.size(); ++i)
      if (members[i]) members[i] = json_member_as(*members[i], a.types[i], a.names[i]);
    return members;
  });
}

}  // namespace ops

RILL_IO_INLINE std::vector<value> decode_json(value lines, std::vector<erased_field> const& fields) {
  return detail::erased_outputs(detail::record_fields<ops::decode_json_op>(lines, fields), fields.size());
}

#endif

}  // namespace rill
