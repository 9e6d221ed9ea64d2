// What decoders of records with named fields share.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/input/decode_raw.hpp"
#include "rill/tensor/elements.hpp"

namespace rill {

/// A field of each record as a tensor of type T: `named_field<of<float, 28, 28>>{"pixels"}`. A record without the field
/// is an error unless there is a default: `named_field<of<std::int64_t>>{"label", std::int64_t{-1}}`.
template <type T> struct named_field {
  std::string name;
  std::optional<tensor> otherwise = {};
};
/// The same for a type known only at run time.
struct erased_field {
  std::string name;
  type of;
  std::optional<tensor> otherwise = {};
};

namespace ops {

/// The inputs after the strings are the defaults of the `optional` fields.
struct field_decoding {
  static constexpr std::int8_t arity = -1;
  static constexpr bool dynamic_output_shape = true;
  struct attributes {
    std::vector<std::string> names;     ///< of the fields
    std::vector<type> types;            ///< what they become
    std::vector<std::string> optional;  ///< the names of those that a record may lack, in the same order
    static constexpr auto fields(auto const& take) {
      return take(field{"names", &attributes::names}, field{"types", &attributes::types},
                  field{"optional", &attributes::optional});
    }
  };
  /// Returns the type of a field for all strings.
  static constexpr type of_field(type const& one, type const& strings, checks expects = {}) {
    expects(one.has_rank(), "the rank of a record's field is not known");
    expects(one.is_known() || accepts(type(dtype::string), strings),
            "a field with unknown extents needs a single record, a scalar string");
    return for_each_string(one, strings, "fields are decoded from strings, not from numbers", expects);
  }
  static std::vector<type> infer(attributes const& a, std::span<type const> x);

 protected:
  /// Returns a kernel that decodes with `fields_of(record)`, which returns the value of each field, or null if it is
  /// missing.
  template <class F> static kernel decoding(kernel_request const& r, std::string_view operation, F fields_of);
};

inline std::vector<type> field_decoding::infer(attributes const& a, std::span<type const> x) {
  expects(!a.names.empty() && a.names.size() == a.types.size(), "there is not one type for each field of a record");
  std::vector<type> results;
  std::size_t lacked = 0;
  for (std::size_t i = 0; i < a.names.size(); ++i) {
    auto const& name = a.names[i];
    auto const refuse = [&](std::string const& why) {
      throw error(code::invalid_argument, "the field '" + name + "' " + why);
    };
    auto const here = a.names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(a.names.begin(), here, name) != here) refuse("is taken twice out of a record");
    results.push_back(of_field(a.types[i], x[0]));
    if (lacked == a.optional.size() || a.optional[lacked] != name) continue;
    if (++lacked >= x.size()) refuse("may be lacked, and there is no value for that");
    if (!accepts(a.types[i], x[lacked]))
      refuse("is " + with_article(a.types[i]) + ", and the value for records that lack it is " +
             with_article(x[lacked]));
  }
  expects(lacked == a.optional.size() && x.size() == lacked + 1,
          "there is not one value for each field that a record may lack");
  return results;
}

}  // namespace ops

namespace detail {

/// The fields of all records in one call of a kernel.
template <class F> class field_decoder {
 public:
  field_decoder(kernel_request const& r, std::string_view operation, F fields_of)
      : about_(decode<ops::field_decoding::attributes>(r.at.attributes)),
        inputs_(r.inputs.begin(), r.inputs.end()),
        operation_(operation),
        fields_of_(std::move(fields_of)) {}

  void operator()(kernel_call const& call) const {
    auto const records = inputs_[0].shape();
    if (records.rank() == 0) {
      auto one = fields(call, 0);
      for (std::size_t i = 0; i < one.size(); ++i) call.give(i, std::move(one[i]));
      return;
    }
    auto all = room_for(records);
    for (std::size_t record = 0, n = static_cast<std::size_t>(elements(records)); record < n; ++record) {
      auto const one = fields(call, record);
      for (std::size_t i = 0; i < one.size(); ++i)
        copy_elements(one[i].element(), static_cast<std::byte*>(all[i].mutable_raw()) + record * one[i].bytes(),
                      one[i].raw(), static_cast<std::size_t>(one[i].elements()));
    }
    for (std::size_t i = 0; i < all.size(); ++i) call.give(i, std::move(all[i]));
  }

 private:
  std::vector<tensor> room_for(shape const& records) const {
    std::vector<tensor> all;
    for (auto const& t : about_.types) {
      auto extents = records;
      for (auto each : t.shape()) extents.push_back(each);
      all.emplace_back(t.element, extents);
    }
    return all;
  }
  std::vector<tensor> fields(kernel_call const& call, std::size_t record) const try {
    auto found = fields_of_(about_, std::string_view(call.in<std::string>(0)[record]));
    std::vector<tensor> all;
    std::size_t lacked = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto const& name = about_.names[i];
      bool const optional = lacked < about_.optional.size() && about_.optional[lacked] == name;
      lacked += optional;
      if (!found[i] && !optional) throw error(code::not_found, "the field '" + name + "' is missing");
      all.push_back(found[i] ? *std::move(found[i]) : tensor::borrow(inputs_[lacked], call.in(lacked)).clone());
    }
    return all;
  } catch (error const& e) {
    throw error(e.kind(), operation_ + ": string " + std::to_string(record) + ": " + e.message());
  }

  ops::field_decoding::attributes about_;
  std::vector<type> inputs_;
  std::string operation_;
  F fields_of_;
};

template <class Op> value record_fields(value records, std::vector<erased_field> const& fields) try {
  ops::field_decoding::attributes a;
  std::vector<value> inputs{records};
  auto& g = graph_of(records);
  for (auto const& f : fields) {
    a.names.push_back(f.name);
    a.types.push_back(f.of);
    if (!f.otherwise) continue;
    a.optional.push_back(f.name);
    inputs.push_back(constant(g, *f.otherwise));
  }
  return record_erased<Op>(g, a, inputs);
} catch (...) {
  rethrow_as_error();
}

/// Returns typed handles for typed strings, erased handles for erased ones.
template <class Op, type... T, operand X> auto record_fields(X records, named_field<T> const&... fields) try {
  auto const v = record_fields<Op>(records, std::vector<erased_field>{{fields.name, T, fields.otherwise}...});
  if constexpr (typed<X>)
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return std::tuple{expr<Op::of_field(T, X::static_type)>{{v.graph, v.node, static_cast<std::uint32_t>(Index)}}...};
    }(std::make_index_sequence<sizeof...(T)>{});
  else return erased_outputs(v, sizeof...(T));
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

template <class F>
kernel ops::field_decoding::decoding(kernel_request const& r, std::string_view operation, F fields_of) {
  kernel k(detail::field_decoder<F>(r, operation, std::move(fields_of)));
  k.allocates_outputs = true;
  return k;
}

}  // namespace rill
