// The header of a safetensors file: JSON with names, types and byte ranges of the tensors.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/type/dtype.hpp"
#include "rill/type/shape.hpp"

#if RILL_IO_RUNTIME
#include "rill/io/crc32.hpp"
#include "rill/io/json.hpp"
#endif

namespace rill::safetensors {

/// The metadata of a file: strings by name.
using metadata = std::map<std::string, std::string>;

inline constexpr std::uint64_t longest_header = 100'000'000;

/// The prefix of a checksum's key in the metadata, before the tensor's name. The value is the CRC-32 of the type's text
/// ("F32[2, 3]") and the bytes, in eight hexadecimal digits; in Python zlib.crc32(data,
/// zlib.crc32(f"{dtype}{shape}".encode())).
inline constexpr std::string_view checksum_key = "rill.crc32/";

inline constexpr std::pair<std::string_view, dtype> types[] = {
    {"BOOL", dtype::boolean}, {"I8", dtype::int8},      {"I16", dtype::int16},     {"I32", dtype::int32},
    {"I64", dtype::int64},    {"U8", dtype::uint8},     {"U16", dtype::uint16},    {"U32", dtype::uint32},
    {"U64", dtype::uint64},   {"F16", dtype::float16},  {"BF16", dtype::bfloat16}, {"F32", dtype::float32},
    {"F64", dtype::float64},  {"C64", dtype::complex64}};

/// Returns the format's name of an element type; empty if it has none.
std::string_view name_of(dtype d);

/// The header's entry of a tensor, whose bytes are [begin, end) of the data after the header.
struct entry {
  std::string name;
  dtype element = dtype::float32;
  rill::shape shape;
  std::uint64_t begin = 0, end = 0;
  std::optional<std::uint32_t> checksum;
};

std::uint32_t checksum_of(dtype element, shape const& s, std::string_view bytes);

/// The parsed header, checked against the number of bytes after it.
struct header {
  std::vector<entry> entries;  ///< in the header's order
  safetensors::metadata metadata;

  header(std::string_view json, std::uint64_t data_bytes);
};

/// Returns the length and the JSON, padded with spaces to a multiple of eight bytes; throws error(invalid_argument) if
/// a name is not UTF-8.
std::string header_bytes(std::vector<entry> const& entries, metadata const& words);

#if RILL_IO_RUNTIME

RILL_IO_INLINE std::string_view name_of(dtype d) {
  for (auto const& [name, each] : types)
    if (each == d) return name;
  return {};
}

RILL_IO_INLINE std::uint32_t checksum_of(dtype element, shape const& s, std::string_view bytes) {
  return crc32(bytes, crc32(std::string(name_of(element)) + s.text()));
}

[[noreturn]] RILL_IO_INLINE void fail(std::string const& why) {
  throw error(code::data_loss, "the header of a safetensors file is damaged: " + why);
}

/// Checks the JSON while it is parsed, without storing it: refuses everything that the format doesn't have, and
/// duplicate keys, which a JSON object would drop.
class header_events : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<entry> entries;
  safetensors::metadata metadata;

  bool start_object(std::size_t) override {
    if (++depth_ == 2 && !in_metadata_) entries.push_back({top_, {}, {}, 0, 0, {}});
    if (depth_ > 2 || list_ != nullptr) fail("its objects are nested too deeply");
    seen_.clear();
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2 && !in_metadata_) finish_entry();
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      top_ = name;
      in_metadata_ = name == "__metadata__";
      if (!names_.insert(name).second) fail("the name '" + name + "' occurs twice");
    } else if (!seen_.insert(field_ = name).second) {
      fail("the key '" + name + "' occurs twice in '" + top_ + "'");
    }
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ != 2 || list_ != nullptr) fail("it has a string in the wrong place");
    if (in_metadata_) metadata.emplace(field_, text);
    else if (field_ == "dtype") entries.back().element = type_named(text);
    else refuse_value();
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || list_ != nullptr) fail("it has a list in the wrong place");
    if (field_ != "shape" && field_ != "data_offsets") refuse_value();
    list_ = field_ == "shape" ? &shape_ : &offsets_;
    list_->clear();
    return true;
  }
  bool end_array() override {
    list_ = nullptr;
    return true;
  }
  bool number_unsigned(std::uint64_t n) override {
    if (list_ == nullptr || n > INT64_MAX) refuse_value();
    if (list_->size() == max_rank)
      throw error(code::invalid_argument, "tensor '" + top_ + "' has a rank above 8, the highest rank of a tensor");
    list_->push_back(n);
    return true;
  }
  bool null() override { refuse_value(); }
  bool boolean(bool) override { refuse_value(); }
  bool number_integer(std::int64_t) override { refuse_value(); }
  bool number_float(double, std::string const&) override { refuse_value(); }
  bool binary(binary_t&) override { refuse_value(); }
  bool parse_error(std::size_t at, std::string const&, nlohmann::detail::exception const&) override {
    fail("it is invalid JSON at byte " + std::to_string(at));
  }

 private:
  [[noreturn]] void refuse_value() const { fail("'" + top_ + "' has an invalid key or value '" + field_ + "'"); }

  dtype type_named(std::string const& text) const {
    for (auto const& [name, d] : types)
      if (name == text) return d;
    throw error(code::unimplemented,
                "tensor '" + top_ + "' has the element type '" + text.substr(0, 20) + "', which rill doesn't support");
  }
  void finish_entry() {
    if (seen_.size() != 3) fail("'" + top_ + "' lacks one of dtype, shape and data_offsets");
    if (offsets_.size() != 2 || offsets_[0] > offsets_[1]) fail("the offsets of '" + top_ + "' are not a range");
    auto& e = entries.back();
    for (auto extent : shape_) e.shape.push_back(static_cast<std::int64_t>(extent));
    e.begin = offsets_[0], e.end = offsets_[1];
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  std::string top_, field_;
  std::unordered_set<std::string> names_, seen_;
  std::vector<std::uint64_t> shape_, offsets_;
  std::vector<std::uint64_t>* list_ = nullptr;
};

/// Throws unless the tensors fill the data from its first to its last byte, without gaps or overlaps.
RILL_IO_INLINE void check_ranges(std::vector<entry> const& entries, std::uint64_t data_bytes) {
  std::vector<entry const*> sorted;
  for (auto const& e : entries) sorted.push_back(&e);
  std::sort(sorted.begin(), sorted.end(),
            [](auto* a, auto* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  std::uint64_t at = 0;
  for (auto const* e : sorted) {
    if (e->begin != at) fail("the bytes of '" + e->name + "' overlap other bytes or leave a gap");
    auto const need = checked_product(elements(e->shape), static_cast<std::int64_t>(size_of(e->element)));
    if (e->end - e->begin != static_cast<std::uint64_t>(need))
      fail("'" + e->name + "' has " + std::to_string(e->end - e->begin) + " bytes, but its type takes " +
           std::to_string(need));
    at = e->end;
  }
  if (at != data_bytes)
    fail("its tensors take " + std::to_string(at) + " bytes, but the file has " + std::to_string(data_bytes));
}

/// Moves the checksums from the metadata to the entries. If there is a checksum, every tensor must have one.
RILL_IO_INLINE void take_checksums(metadata& words, std::vector<entry>& entries) {
  std::unordered_map<std::string_view, entry*> by_name;
  for (auto& e : entries) by_name[e.name] = &e;
  std::size_t found = 0;
  for (auto at = words.lower_bound(std::string(checksum_key));
       at != words.end() && at->first.starts_with(checksum_key);) {
    auto const name = std::string_view(at->first).substr(checksum_key.size());
    auto const& text = at->second;
    std::uint32_t sum = 0;
    auto const end = std::from_chars(text.data(), text.data() + text.size(), sum, 16);
    if (text.size() != 8 || end.ptr != text.data() + 8 || !by_name.contains(name))
      fail("a checksum is invalid or has no tensor: '" + at->first + "'");
    by_name[name]->checksum = sum;
    at = words.erase(at);
    ++found;
  }
  if (found != 0 && found != entries.size())
    fail("only some of its tensors have a checksum (a program that adds tensors must remove all '" +
         std::string(checksum_key) + "' keys)");
}

RILL_IO_INLINE header::header(std::string_view json, std::uint64_t data_bytes) {
  // The parser would skip a byte order mark and take a zero byte for the end.
  if (!json.starts_with('{') || json.find('\0') != json.npos) fail("it is not a JSON object");
  header_events events;
  rill::json::parse_events(json, events);
  entries = std::move(events.entries);
  metadata = std::move(events.metadata);
  check_ranges(entries, data_bytes);
  take_checksums(metadata, entries);
}

/// Returns a string as JSON; throws error(invalid_argument) if it is not UTF-8.
RILL_IO_INLINE std::string quoted(std::string const& text) try {
  return nlohmann::json(text).dump();
} catch (nlohmann::json::exception const&) {
  throw error(code::invalid_argument, "a name or metadata string of a safetensors file is not UTF-8");
}

RILL_IO_INLINE std::string header_bytes(std::vector<entry> const& entries, metadata const& words) {
  std::string json = "{\"__metadata__\":{";
  for (auto const& [key, value] : words) json += quoted(key) + ":" + quoted(value) + ",";
  if (!words.empty()) json.pop_back();
  json += "},";
  if (words.empty()) json = "{";
  for (auto const& e : entries)
    json += quoted(e.name) + ":{\"dtype\":\"" + std::string(name_of(e.element)) + "\",\"shape\":" + e.shape.text() +
            ",\"data_offsets\":[" + std::to_string(e.begin) + "," + std::to_string(e.end) + "]},";
  if (json.back() == ',') json.pop_back();
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > longest_header)
    throw error(code::invalid_argument,
                "the header of a safetensors file, with its names and metadata, is longer than 100,000,000 bytes");
  std::string length;
  for (std::size_t i = 0; i < 8; ++i) length += static_cast<char>(json.size() >> 8 * i & 0xff);
  return length + json;
}

#endif

}  // namespace rill::safetensors
