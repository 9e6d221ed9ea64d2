// The header of a .npy file, and its names of element types.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rill/base/error.hpp"
#include "rill/io/bytes.hpp"
#include "rill/type/dtype.hpp"
#include "rill/type/shape.hpp"

namespace rill {

namespace npy {

inline constexpr std::string_view magic = "\x93NUMPY";

/// The layout of the elements in the file: "<f4" is float32, 4 bytes, little-endian.
struct layout {
  dtype element = dtype::float32;
  std::size_t width = 0;  ///< bytes of one element in the file
  bool swapped = false;
  bool unicode = false;  ///< whether strings have four bytes per character, rather than one
};

[[noreturn]] void refuse_type(std::string_view descr);

/// The codes of types that are stored as in memory. NumPy stores a bfloat16 of the package ml_dtypes as two untyped
/// bytes.
struct known_type {
  std::string_view code;
  dtype element;
};
inline constexpr known_type known_types[] = {
    {"b1", dtype::boolean}, {"i1", dtype::int8},      {"i2", dtype::int16},      {"i4", dtype::int32},
    {"i8", dtype::int64},   {"u1", dtype::uint8},     {"u2", dtype::uint16},     {"u4", dtype::uint32},
    {"u8", dtype::uint64},  {"f2", dtype::float16},   {"V2", dtype::bfloat16},   {"f4", dtype::float32},
    {"f8", dtype::float64}, {"c8", dtype::complex64}, {"c16", dtype::complex128}};

layout layout_of(std::string_view descr);

/// The header of a .npy file, a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class header {
 public:
  npy::layout layout;
  bool fortran = false;
  rill::shape shape;

  explicit header(std::string_view text);

 private:
  [[noreturn]] static void fail() {
    throw error(code::data_loss, "the header of a .npy file is not a dictionary of descr, fortran_order and shape");
  }
  char next();
  bool take(char c);
  void need(char c) {
    if (!take(c)) fail();
  }
  std::string_view quoted();
  void read_type();
  bool boolean();
  void read_shape();

  std::string_view rest_;
};

/// Removes the magic string, version and header from the front of `bytes` and returns the header.
header take_header(std::string_view& bytes);

std::string descr_of(dtype d);

/// Returns magic string, version and dictionary, padded with spaces to a multiple of 64 bytes. Version 1 always has
/// room for 8 extents.
std::string head_of(std::string const& descr, shape const& s);

}  // namespace npy

#if RILL_RUNTIME

namespace npy {

RILL_INLINE void refuse_type(std::string_view descr) {
  throw error(code::unimplemented, "a .npy file has elements of type '" + std::string(descr.substr(0, 40)) +
                                       "', which rill doesn't support");
}

RILL_INLINE layout layout_of(std::string_view descr) {
  auto code = descr;
  bool const has_order = !code.empty() && std::string_view("<>|=").find(code[0]) != code.npos;
  if (has_order) code.remove_prefix(1);
  for (auto const& [name, element] : known_types)
    if (name == code) return {element, size_of(element), descr[0] == '>', false};
  if (code.starts_with('O'))
    throw error(code::unimplemented,
                "a .npy file has Python objects: reading them would run code from the file, which rill never does");
  std::uint32_t length = 0;
  if (code.size() < 2 || (code[0] != 'U' && code[0] != 'S')) refuse_type(descr);
  auto const end = std::from_chars(code.data() + 1, code.data() + code.size(), length);
  if (end.ptr != code.data() + code.size() || end.ec != std::errc{}) refuse_type(descr);
  bool const unicode = code[0] == 'U';
  return {dtype::string, std::size_t{length} * (unicode ? 4 : 1), descr[0] == '>', unicode};
}

RILL_INLINE header::header(std::string_view text) : rest_(text) {
  bool seen[3] = {};
  need('{');
  while (!take('}')) {
    auto const key = quoted();
    need(':');
    std::size_t const which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
    if (which == 3 || seen[which]) fail();
    seen[which] = true;
    if (which == 0) read_type();
    else if (which == 1) fortran = boolean();
    else read_shape();
    if (!take(',') && next() != '}') fail();
  }
  if (next() != '\0' || !rest_.empty() || !(seen[0] && seen[1] && seen[2])) fail();
}

RILL_INLINE char header::next() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t"), rest_.size()));
  return rest_.empty() ? '\0' : rest_[0];
}

RILL_INLINE bool header::take(char c) {
  if (next() != c || rest_.empty()) return false;
  rest_.remove_prefix(1);
  return true;
}

RILL_INLINE std::string_view header::quoted() {
  char const quote = next();
  if (quote != '\'' && quote != '"') fail();
  auto const end = rest_.find(quote, 1);
  if (end == rest_.npos) fail();
  auto const text = rest_.substr(1, end - 1);
  rest_.remove_prefix(end + 1);
  return text;
}

RILL_INLINE void header::read_type() {
  if (next() == '[' || next() == '(' || next() == '{') refuse_type("a record of several fields");
  layout = layout_of(quoted());
}

RILL_INLINE bool header::boolean() {
  next();
  bool const yes = rest_.starts_with("True");
  if (!yes && !rest_.starts_with("False")) fail();
  rest_.remove_prefix(yes ? 4 : 5);
  return yes;
}

RILL_INLINE void header::read_shape() {
  need('(');
  while (!take(')')) {
    next();
    std::int64_t extent = -1;
    auto const end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
    if (end.ec != std::errc{} || extent < 0) fail();
    rest_.remove_prefix(static_cast<std::size_t>(end.ptr - rest_.data()));
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // Python 2's suffix of long integers
    if (shape.rank() == max_rank)
      throw error(code::invalid_argument, "a .npy file has an array of rank above 8, the highest rank of a tensor");
    shape.push_back(extent);
    if (!take(',') && next() != ')') fail();
  }
}

RILL_INLINE header take_header(std::string_view& bytes) {
  if (!bytes.starts_with(magic) || bytes.size() < 12)
    throw error(code::invalid_argument, "these bytes are not a .npy file, which begins with \\x93NUMPY");
  auto const version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != 0)
    throw error(code::unimplemented, "a .npy file has version " + std::to_string(version) + "." +
                                         std::to_string(static_cast<unsigned char>(bytes[7])) +
                                         "; rill reads versions 1.0 to 3.0");
  std::size_t const start = version == 1 ? 10 : 12;
  std::size_t const length =
      version == 1 ? load_little<std::uint16_t>(&bytes[8]) : load_little<std::uint32_t>(&bytes[8]);
  if (length > bytes.size() - start) throw error(code::data_loss, "a .npy file ends within its header");
  header h(bytes.substr(start, length));
  bytes.remove_prefix(start + length);
  return h;
}

RILL_INLINE std::string descr_of(dtype d) {
  for (auto const& [name, element] : known_types)
    if (element == d) return (name.back() == '1' ? "|" : "<") + std::string(name);
  return {};
}

RILL_INLINE std::string head_of(std::string const& descr, shape const& s) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (auto extent : s) text += std::to_string(extent) + ", ";
  if (s.rank() > 0) text.resize(text.size() - (s.rank() == 1 ? 1 : 2));
  text += "), }";
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string head = std::string(magic) + '\1' + '\0';
  append_little(head, static_cast<std::uint16_t>(text.size()));
  return head + text;
}

}  // namespace npy

#endif

}  // namespace rill
