// CSV records as tensors.
#pragma once
#include <tuple>
#include <vector>

#include "rill/ops/input/decode_raw.hpp"

namespace rill::ops {

struct decode_csv_op {
  using library = void;
  static constexpr std::string_view name = "decode_csv", doc = "some fields of each string, which is one CSV record";
  static constexpr std::string_view declared_type = "of";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes{dtype::string};
  struct attributes {
    type of;                 ///< what the fields become
    std::int64_t first = 0;  ///< of the fields
    std::int64_t fields_of_record = 1;
    std::uint8_t delimiter = ',';
    static constexpr auto fields(auto const& take) {
      using a = attributes;
      return take(field{"of", &a::of}, field{"first", &a::first}, field{"fields", &a::fields_of_record},
                  field{"delimiter", &a::delimiter});
    }
  };
  static constexpr type infer(attributes const& a, type const& strings, checks expects = {}) {
    expects(!dtypes::complexes.contains(a.of.element), "decode_csv: CSV has no complex numbers");
    if (!expects(a.of.is_known(), "decode_csv: the extents of a record's values must be known")) return a.of;
    expects(a.delimiter != '"' && a.delimiter != '\n' && a.delimiter != '\r',
            "decode_csv: the delimiter cannot be a quote or the end of a line");
    expects(a.first >= 0 && a.fields_of_record > 0 && a.first <= a.fields_of_record &&
                rill::elements(a.of.shape(), expects) <= a.fields_of_record - a.first,
            "decode_csv: a record has fewer fields than are to be read");
    return for_each_string(a.of, strings, "decode_csv: the operand is not of strings", expects);
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns the fields of each string, a CSV record, as values whose first axes are the axes of the strings: `auto
/// [pixels, digit] = decode_csv<of<float, 64>, of<std::int32_t>>(records)`. Each type takes as many fields as it has
/// elements, in order. The step fails with error(invalid_argument) that names string and column if a field is not a
/// number of its type or if the number of fields differs.
template <type... Row, operand X>
  requires(sizeof...(Row) > 0)
auto decode_csv(X records) {
  using attributes = ops::decode_csv_op::attributes;
  constexpr std::int64_t widths[] = {elements(Row.shape())...};
  constexpr auto before = [](auto const& all, std::size_t n) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += all[i];
    return sum;
  };
  constexpr type rows[] = {Row...};
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::tuple{
        record<ops::decode_csv_op, attributes{rows[Index], before(widths, Index), before(widths, sizeof...(Row))}>(
            records)...};
  }(std::make_index_sequence<sizeof...(Row)>{});
}
/// Returns the same for types known only at run time.
inline std::vector<value> decode_csv(value records, std::vector<type> const& row, char delimiter = ',') try {
  std::int64_t fields = 0, first = 0;
  for (auto const& t : row) {
    expects(t.is_known(), "decode_csv: the extents of a record's values must be known");
    fields += elements(t.shape());
  }
  std::vector<value> all;
  for (auto const& t : row) {
    all.push_back(record_erased<ops::decode_csv_op>(
        detail::graph_of(records), {t, first, fields, static_cast<std::uint8_t>(delimiter)}, {records}));
    first += elements(t.shape());
  }
  return all;
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/io/csv_fields.hpp"

namespace rill::ops {

template <class T>
void read_csv_string(decode_csv_op::attributes const& a, std::string const& text, std::size_t index, T* to,
                     std::size_t width) {
  auto const source = "decode_csv: string " + std::to_string(index);
  csv::scanner from(text, {.delimiter = static_cast<char>(a.delimiter), .file_start = false}, source);
  from.next_record();
  auto const first = static_cast<std::size_t>(a.first);
  while (from.more()) {
    auto const at = from.column();
    auto const text_of = from.field();
    if (at < first || at - first >= width) continue;
    if (!csv::read(text_of, to[at - first])) from.fail_field(text_of, rill::name(dtype_of<T>));
  }
  if (from.column() != static_cast<std::size_t>(a.fields_of_record))
    from.fail(" has " + std::to_string(from.column()) + " fields, and " + std::to_string(a.fields_of_record) +
              " were expected");
  if (from.next_record()) from.fail(" is followed by another record");
}

inline kernel decode_csv_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const count = static_cast<std::size_t>(rill::elements(r.inputs[0].shape()));
  auto const width = static_cast<std::size_t>(rill::elements(a.of.shape()));
  return visit(a.of.element, [&]<class T>() {
    return kernel([a, count, width](kernel_call const& call) {
      for (std::size_t i = 0; i < count; ++i)
        read_csv_string(a, call.in<std::string>(0)[i], i, call.out<T>(0) + i * width, width);
    });
  });
}

}  // namespace rill::ops
#endif
