// Lines of JSON as tensors in the graph. Needs nlohmann-json, so rill/io.hpp takes it.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "rill/io/json_lines.hpp"
#include "rill/ops/input/named_fields.hpp"

namespace rill::ops {

struct decode_json_op : field_decoding {
  static constexpr std::string_view name = "decode_json", doc = "members of each string, a JSON object, by their names";
  static constexpr type of_field(type const& one, type const& strings, checks expects = {}) {
    expects(!dtypes::complexes.contains(one.element), "decode_json: JSON has no complex numbers");
    return field_decoding::of_field(one, strings, expects);
  }
  static std::vector<type> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Members of each string, a JSON object, behind the strings' own extents: `auto [size, name] = decode_json(lines,
/// named_field<of<float, 2>>{"size"}, named_field<of<std::string>>{"name"})`. Integers become any numbers, others
/// floats; lists are tensors. A member that is null is missing; members that nobody asks for may be anything. Extents
/// may be unknown if there is one string alone, a scalar. A step fails with an error that says string and member:
/// error(not_found) for one that is missing, error(invalid_argument) for one of another type and for what is no JSON.
template <operand X, type First, type... T>
auto decode_json(X lines, named_field<First> const& first, named_field<T> const&... more) {
  return detail::record_fields<ops::decode_json_op>(lines, first, more...);
}
/// The same for types that only the run of the program knows.
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
