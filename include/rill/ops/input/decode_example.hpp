// Operation that decodes tf.train.Example. Needs protozero.
#pragma once
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "rill/io/example.hpp"
#include "rill/ops/input/named_fields.hpp"

namespace rill::ops {

struct decode_example_op : field_decoding {
  static constexpr std::string_view name = "decode_example",
                                    doc = "features of each string, a tf.train.Example, by their names";
  static constexpr type of_field(type const& one, type const& strings, checks expects = {}) {
    expects(one.element == dtype::string || one.element == dtype::float32 || one.element == dtype::int64,
            "decode_example: a tf.train.Example has strings, float32 and int64; decode one of these and cast");
    int open = 0;
    for (std::size_t i = 0; i < one.rank; ++i) open += !one[i].known();
    expects(open <= 1, "decode_example: at most one extent of a feature may be unknown");
    return field_decoding::of_field(one, strings, expects);
  }
  static std::vector<type> infer(attributes const& a, std::span<type const> x) {
    for (auto const& t : a.types) of_field(t, x[0]);
    return field_decoding::infer(a, x);
  }
  static kernel cpu(kernel_request const& r) {
    return decoding(r, name, [](attributes const& a, std::string_view bytes) {
      auto const all = parse_example(bytes);
      std::vector<std::optional<tensor>> features(a.names.size());
      for (std::size_t i = 0; i < a.names.size(); ++i)
        if (auto const at = all.find(a.names[i]); at != all.end() && at->second.index() > 0)
          features[i] = feature_tensor(all, a.names[i], a.types[i]);
      return features;
    });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns features of each string, a tf.train.Example, as values whose first axes are the axes of the strings: `auto
/// [image, label] = decode_example(records, named_field<of<float, 28, 28>>{"image"},
/// named_field<of<std::int64_t>>{"label"})`. One extent of a feature may be unknown if the string is a scalar. A step
/// fails with an error that names string and feature: error(not_found) if a feature is missing or empty,
/// error(invalid_argument) if it has another kind or number of values, error(data_loss) if the bytes are not a
/// tf.train.Example.
template <operand X, type First, type... T>
auto decode_example(X records, named_field<First> const& first, named_field<T> const&... more) {
  return detail::record_fields<ops::decode_example_op>(records, first, more...);
}
/// Returns the same for types known only at run time.
inline std::vector<value> decode_example(value records, std::vector<erased_field> const& fields) {
  return detail::erased_outputs(detail::record_fields<ops::decode_example_op>(records, fields), fields.size());
}

}  // namespace rill
