// tf.train.Example, the message that most TFRecord files hold: lists of bytes, floats or integers by name. Needs
// protozero.
#pragma once
#if !__has_include(<protozero/pbf_reader.hpp>)
#error "rill: tf.train.Example needs protozero; on Debian and Ubuntu: apt-get install libprotozero-dev"
#endif
#include <cstddef>
#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// A feature: empty, or a list of strings, floats or integers.
using feature = std::variant<std::monostate, std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;

/// The features of an Example, by name.
using example = std::map<std::string, feature, std::less<>>;

namespace examples {

// The messages' fields, as TensorFlow's example.proto and feature.proto number them.
enum field : protozero::pbf_tag_type {
  features_of_example = 1,
  entry_of_features = 1,
  key_of_entry = 1,
  feature_of_entry = 2,
  bytes_of_feature = 1,
  floats_of_feature = 2,
  integers_of_feature = 3,
  values_of_list = 1,
};

using wire = protozero::pbf_wire_type;
constexpr std::uint32_t as(field f, wire w) { return protozero::tag_and_type(f, w); }

inline std::string_view take_view(protozero::pbf_reader& from) {
  auto const [data, length] = from.get_data();
  return {data, length};
}
inline protozero::pbf_reader take_message(protozero::pbf_reader& from) {
  auto const view = take_view(from);
  return {view.data(), view.size()};
}

/// Reads a list. Fields of other numbers or kinds are skipped, as protocol buffers demand; a list may be packed,
/// unpacked or mixed.
inline void read_list(protozero::pbf_reader from, std::vector<std::string>& to) {
  while (from.next())
    if (from.tag_and_type() == as(values_of_list, wire::length_delimited)) to.emplace_back(take_view(from));
    else from.skip();
}
inline void read_list(protozero::pbf_reader from, std::vector<float>& to) {
  while (from.next()) switch (from.tag_and_type()) {
      case as(values_of_list, wire::length_delimited):
        for (float x : from.get_packed_float()) to.push_back(x);
        break;
      case as(values_of_list, wire::fixed32):
        to.push_back(from.get_float());
        break;
      default:
        from.skip();
    }
}
inline void read_list(protozero::pbf_reader from, std::vector<std::int64_t>& to) {
  while (from.next()) switch (from.tag_and_type()) {
      case as(values_of_list, wire::length_delimited):
        for (std::int64_t x : from.get_packed_int64()) to.push_back(x);
        break;
      case as(values_of_list, wire::varint):
        to.push_back(from.get_int64());
        break;
      default:
        from.skip();
    }
}

/// Appends a list to an earlier one of the same kind, or replaces a list of another kind.
template <class List> void merge_list(protozero::pbf_reader from, feature& to) {
  if (!std::holds_alternative<List>(to)) to.emplace<List>();
  read_list(from, std::get<List>(to));
}
inline void merge_feature(protozero::pbf_reader from, feature& to) {
  while (from.next()) switch (from.tag_and_type()) {
      case as(bytes_of_feature, wire::length_delimited):
        merge_list<std::vector<std::string>>(take_message(from), to);
        break;
      case as(floats_of_feature, wire::length_delimited):
        merge_list<std::vector<float>>(take_message(from), to);
        break;
      case as(integers_of_feature, wire::length_delimited):
        merge_list<std::vector<std::int64_t>>(take_message(from), to);
        break;
      default:
        from.skip();
    }
}
inline void read_entry(protozero::pbf_reader from, example& to) {
  std::string key;
  feature value;
  while (from.next()) switch (from.tag_and_type()) {
      case as(key_of_entry, wire::length_delimited):
        key = take_view(from);
        break;
      case as(feature_of_entry, wire::length_delimited):
        merge_feature(take_message(from), value);
        break;
      default:
        from.skip();
    }
  to.insert_or_assign(std::move(key), std::move(value));
}
inline void read_features(protozero::pbf_reader from, example& to) {
  while (from.next())
    if (from.tag_and_type() == as(entry_of_features, wire::length_delimited)) read_entry(take_message(from), to);
    else from.skip();
}

inline std::string list_bytes(feature const& f) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  if (auto const* words = std::get_if<std::vector<std::string>>(&f))
    for (auto const& each : *words) to.add_bytes(values_of_list, each);
  else if (auto const* floats = std::get_if<std::vector<float>>(&f))
    to.add_packed_float(values_of_list, floats->begin(), floats->end());
  else if (auto const* integers = std::get_if<std::vector<std::int64_t>>(&f))
    to.add_packed_int64(values_of_list, integers->begin(), integers->end());
  return bytes;
}
inline std::string feature_bytes(feature const& f) {
  constexpr field fields[] = {bytes_of_feature, floats_of_feature, integers_of_feature};
  std::string bytes;
  if (f.index() > 0) protozero::pbf_writer(bytes).add_message(fields[f.index() - 1], list_bytes(f));
  return bytes;
}

}  // namespace examples

/// Parses the bytes of a tf.train.Example; throws error(data_loss) for other bytes.
inline example parse_example(std::string_view bytes) try {
  example all;
  try {
    protozero::pbf_reader from(bytes.data(), bytes.size());
    while (from.next())
      if (from.tag_and_type() == examples::as(examples::features_of_example, examples::wire::length_delimited))
        examples::read_features(examples::take_message(from), all);
      else from.skip();
  } catch (protozero::exception const& e) {
    throw error(code::data_loss, std::string("these bytes are not a tf.train.Example: ") + e.what());
  }
  return all;
} catch (...) {
  rethrow_as_error();
}

/// Returns the bytes of a tf.train.Example with its features sorted by name, as TensorFlow's deterministic
/// serialisation writes it.
inline std::string example_bytes(example const& all) try {
  std::string features;
  protozero::pbf_writer to(features);
  for (auto const& [name, value] : all) {
    std::string entry;
    protozero::pbf_writer writer(entry);
    writer.add_string(examples::key_of_entry, name);
    writer.add_message(examples::feature_of_entry, examples::feature_bytes(value));
    to.add_message(examples::entry_of_features, entry);
  }
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(examples::features_of_example, features);
  return bytes;
} catch (...) {
  rethrow_as_error();
}

/// Returns the elements of a tensor as a feature, in row-major order; throws error(invalid_argument) unless they are
/// strings, float32 or int64.
inline feature feature_of(tensor const& t) try {
  auto const list = [&]<class T>() { return std::vector<T>(t.span<T>().begin(), t.span<T>().end()); };
  if (t.element() == dtype::string) return list.operator()<std::string>();
  if (t.element() == dtype::float32) return list.operator()<float>();
  expects(t.element() == dtype::int64, "a tf.train.Example holds strings, float32 and int64: cast first");
  return list.operator()<std::int64_t>();
} catch (...) {
  rethrow_as_error();
}

/// Returns a feature as a tensor of the given type, one of whose extents may be unknown: `feature_tensor(e, "image",
/// of<float, 28, 28>)`. Throws error(not_found) if there is no feature of this name, and error(invalid_argument), which
/// names it, if it has another kind or number of values.
inline tensor feature_tensor(example const& from, std::string_view name, type const& wanted);

namespace examples {

/// Returns the extents of `wanted` for a number of values.
inline shape extents_for(type const& wanted, std::int64_t count) {
  shape s;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < wanted.rank; ++i)
    if (wanted[i].known()) known = checked_product(known, wanted[i].extent);
  std::size_t open = 0;
  for (std::size_t i = 0; i < wanted.rank; ++i) {
    if (!wanted[i].known()) expects(++open == 1, "feature_tensor: more than one extent is unknown");
    s.push_back(wanted[i].known() ? wanted[i].extent : known == 0 ? 0 : count / known);
  }
  return s;
}

}  // namespace examples

inline tensor feature_tensor(example const& from, std::string_view name, type const& wanted) try {
  auto const quoted = "the feature '" + std::string(name) + "'";
  auto const found = from.find(name);
  if (found == from.end()) throw error(code::not_found, "a tf.train.Example has no " + quoted.substr(4));
  expects(wanted.has_rank(), "feature_tensor: the type of a feature must have a known rank");
  return std::visit(
      [&]<class List>(List const& list) -> tensor {
        if constexpr (std::is_same_v<List, std::monostate>)
          throw error(code::invalid_argument, quoted + " has no values, but " + wanted.text() + " was expected");
        else {
          using T = typename List::value_type;
          auto const count = static_cast<std::int64_t>(list.size());
          if (dtype_of<T> != wanted.element || elements(examples::extents_for(wanted, count)) != count)
            throw error(code::invalid_argument, quoted + " has " + std::to_string(count) + " values of " +
                                                    std::string(rill::name(dtype_of<T>)) + ", but " + wanted.text() +
                                                    " was expected");
          return tensor::copy(std::span<T const>(list), examples::extents_for(wanted, count));
        }
      },
      found->second);
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
