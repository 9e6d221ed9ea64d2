// NumPy's files of one array (numpy.lib.format, versions 1 to 3).
#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "rill/io/bytes.hpp"
#include "rill/io/file.hpp"
#include "rill/io/utf8.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

namespace npy {

inline constexpr std::string_view magic = "\x93NUMPY";

/// How the elements lie in the file: "<f4" is a float32 of 4 bytes, the lowest first.
struct layout {
  dtype element = dtype::float32;
  std::size_t width = 0;  ///< bytes of one element in the file
  bool swapped = false;
  bool unicode = false;  ///< strings of four bytes a character rather than of one
};

[[noreturn]] inline void refuse_type(std::string_view descr) {
  throw error(code::unimplemented, "a .npy file holds elements of type '" + std::string(descr.substr(0, 40)) +
                                       "', which rill does not have");
}

/// Kind and bytes of the types that are stored as they lie in memory. Two void bytes are what NumPy makes of a
/// bfloat16 of the package ml_dtypes.
struct known_type {
  std::string_view code;
  dtype element;
};
inline constexpr known_type known_types[] = {
    {"b1", dtype::boolean}, {"i1", dtype::int8},      {"i2", dtype::int16},      {"i4", dtype::int32},
    {"i8", dtype::int64},   {"u1", dtype::uint8},     {"u2", dtype::uint16},     {"u4", dtype::uint32},
    {"u8", dtype::uint64},  {"f2", dtype::float16},   {"V2", dtype::bfloat16},   {"f4", dtype::float32},
    {"f8", dtype::float64}, {"c8", dtype::complex64}, {"c16", dtype::complex128}};

inline layout layout_of(std::string_view descr) {
  auto code = descr;
  bool const has_order = !code.empty() && std::string_view("<>|=").find(code[0]) != code.npos;
  if (has_order) code.remove_prefix(1);
  for (auto const& [name, element] : known_types)
    if (name == code) return {element, size_of(element), descr[0] == '>', false};
  if (code.starts_with('O'))
    throw error(code::unimplemented,
                "a .npy file holds Python objects: reading them would run the file's own code, which rill never does");
  std::uint32_t length = 0;
  if (code.size() < 2 || (code[0] != 'U' && code[0] != 'S')) refuse_type(descr);
  auto const end = std::from_chars(code.data() + 1, code.data() + code.size(), length);
  if (end.ptr != code.data() + code.size() || end.ec != std::errc{}) refuse_type(descr);
  bool const unicode = code[0] == 'U';
  return {dtype::string, std::size_t{length} * (unicode ? 4 : 1), descr[0] == '>', unicode};
}

/// What stands before the elements, a Python dictionary written out: {'descr': '<f4', 'fortran_order': False, 'shape':
/// (3, 4), }.
class header {
 public:
  npy::layout layout;
  bool fortran = false;
  rill::shape shape;

  explicit header(std::string_view text) : rest_(text) {
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

 private:
  [[noreturn]] static void fail() {
    throw error(code::data_loss, "the header of a .npy file is not the dictionary of descr, fortran_order and shape");
  }
  char next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t"), rest_.size()));
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool take(char c) {
    if (next() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!take(c)) fail();
  }
  std::string_view quoted() {
    char const quote = next();
    if (quote != '\'' && quote != '"') fail();
    auto const end = rest_.find(quote, 1);
    if (end == rest_.npos) fail();
    auto const text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  void read_type() {
    if (next() == '[' || next() == '(' || next() == '{') refuse_type("a record of several fields");
    layout = layout_of(quoted());
  }
  bool boolean() {
    next();
    bool const yes = rest_.starts_with("True");
    if (!yes && !rest_.starts_with("False")) fail();
    rest_.remove_prefix(yes ? 4 : 5);
    return yes;
  }
  void read_shape() {
    need('(');
    while (!take(')')) {
      next();
      std::int64_t extent = -1;
      auto const end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (end.ec != std::errc{} || extent < 0) fail();
      rest_.remove_prefix(static_cast<std::size_t>(end.ptr - rest_.data()));
      if (rest_.starts_with('L')) rest_.remove_prefix(1);  // a long of Python 2
      if (shape.rank() == max_rank)
        throw error(code::invalid_argument, "a .npy file holds an array of rank above 8, the highest that rill has");
      shape.push_back(extent);
      if (!take(',') && next() != ')') fail();
    }
  }

  std::string_view rest_;
};

/// Takes magic, version and header from the front of `bytes`.
inline header take_header(std::string_view& bytes) {
  if (!bytes.starts_with(magic) || bytes.size() < 12)
    throw error(code::invalid_argument, "these bytes are not a .npy file: it begins with \\x93NUMPY");
  auto const version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != 0)
    throw error(code::unimplemented, "a .npy file of version " + std::to_string(version) + "." +
                                         std::to_string(static_cast<unsigned char>(bytes[7])) +
                                         " came; rill reads versions 1.0 to 3.0");
  std::size_t const start = version == 1 ? 10 : 12;
  std::size_t const length =
      version == 1 ? load_little<std::uint16_t>(&bytes[8]) : load_little<std::uint32_t>(&bytes[8]);
  if (length > bytes.size() - start) throw error(code::data_loss, "a .npy file ends within its header");
  header h(bytes.substr(start, length));
  bytes.remove_prefix(start + length);
  return h;
}

inline std::string text_of(char const* p, layout const& l) {
  std::string s;
  if (!l.unicode) {
    s.assign(p, l.width);
    s.resize(s.find_last_not_of('\0') + 1);
    return s;
  }
  for (std::size_t i = 0; i < l.width; i += 4) {
    auto const c = l.swapped ? load_big<std::uint32_t>(p + i) : load_little<std::uint32_t>(p + i);
    if (!is_character(c)) throw error(code::data_loss, "a string in a .npy file holds a number that is no character");
    append_utf8(s, c);
  }
  s.resize(s.find_last_not_of('\0') + 1);
  return s;
}

/// The elements in the file's order.
inline tensor read_elements(std::string_view bytes, layout const& l, shape const& s) {
  tensor t(l.element, s);
  auto const n = static_cast<std::size_t>(t.elements());
  if (l.element == dtype::string) {
    for (std::size_t i = 0; i < n; ++i) t.mutable_data<std::string>()[i] = text_of(&bytes[i * l.width], l);
  } else if (n > 0) {
    auto* to = static_cast<unsigned char*>(t.mutable_raw());
    std::memcpy(to, bytes.data(), bytes.size());
    std::size_t const parts = is_complex(l.element) ? 2 : 1;
    if (l.swapped) reverse_bytes(to, n * parts, l.width / parts);
    if (l.element == dtype::boolean) std::transform(to, to + n, to, [](unsigned char b) { return b != 0; });
  }
  return t;
}

inline shape reversed(shape s) {
  std::reverse(s.values.begin(), s.values.begin() + s.count);
  return s;
}

/// All axes in the opposite order: Fortran's file of shape s is a row-major one of shape reversed(s).
inline tensor transposed(tensor const& from) {
  tensor t(from.element(), reversed(from.shape()));
  auto const s = t.shape();
  visit(t.element(), [&]<class T>() {
    T const* const source = from.data<T>();
    T* const target = t.mutable_data<T>();
    extents index = s;
    std::fill_n(index.values.begin(), index.count, 0);
    for (std::int64_t i = 0, offset = 0, n = t.elements(); i < n; ++i) {
      target[i] = source[offset];
      std::int64_t step = 1;
      for (std::size_t axis = 0; axis < s.rank(); ++axis) step *= s[axis];
      for (auto axis = s.rank(); axis-- > 0;) {
        step /= s[axis];
        offset += step;
        if (++index[axis] < s[axis]) break;
        offset -= step * s[axis];
        index[axis] = 0;
      }
    }
  });
  return t;
}

}  // namespace npy

/// The array that the bytes of a .npy file hold. Python objects, records and dates are refused with
/// error(unimplemented), damage with error(data_loss); sizes are checked before anything is allocated.
inline tensor parse_npy(std::string_view bytes) {
  auto const h = npy::take_header(bytes);
  auto const n = elements(h.shape);
  auto const need = checked_product(n, static_cast<std::int64_t>(h.layout.width));
  if (static_cast<std::uint64_t>(need) != bytes.size() || (need == 0 && n != 0))
    throw error(code::data_loss, "a .npy file holds " + std::to_string(bytes.size()) +
                                     " bytes of elements, and its header asks for " + std::to_string(n) +
                                     " elements of " + std::to_string(h.layout.width) + " bytes");
  if (!h.fortran || h.shape.rank() < 2) return npy::read_elements(bytes, h.layout, h.shape);
  return npy::transposed(npy::read_elements(bytes, h.layout, npy::reversed(h.shape)));
}

/// The array in a .npy file of at most `most` bytes.
inline tensor read_npy(std::filesystem::path const& path, std::uint64_t most = most_file_bytes) {
  return parse_npy(read_file(path, most));
}

namespace npy {

/// Strings as NumPy holds them, all of one width: characters of four bytes, or plain bytes where they aren't UTF-8.
inline std::string string_elements(tensor const& t, std::string& descr) {
  std::size_t longest = 1, longest_bytes = 1;
  bool unicode = true;
  for (auto const& s : t.span<std::string>()) {
    if (s.ends_with('\0'))
      throw error(code::invalid_argument, "a string ends with a zero byte, which NumPy would take away");
    auto const characters = decode_utf8(s);
    unicode = unicode && characters;
    longest_bytes = std::max(longest_bytes, s.size());
    if (characters) longest = std::max(longest, characters->size());
  }
  auto const width = unicode ? longest : longest_bytes;
  descr = (unicode ? "<U" : "|S") + std::to_string(width);
  std::string bytes;
  for (auto const& s : t.span<std::string>()) {
    auto const end = bytes.size() + width * (unicode ? 4 : 1);
    if (!unicode) bytes += s;
    else
      for (auto c : *decode_utf8(s)) append_little(bytes, static_cast<std::uint32_t>(c));
    bytes.resize(end);
  }
  return bytes;
}

inline std::string descr_of(dtype d) {
  for (auto const& [name, element] : known_types)
    if (element == d) return (name.back() == '1' ? "|" : "<") + std::string(name);
  return {};
}

/// Magic, version and dictionary, filled with spaces to a multiple of 64 bytes. Eight extents never need more than
/// version 1 holds.
inline std::string head_of(std::string const& descr, shape const& s) {
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

/// A file in two pieces, so that the elements need not be copied: `elements` points into the tensor, or into `room`.
struct pieces {
  std::string head, room;
  std::string_view elements;

  explicit pieces(tensor const& t) {
    if (!t) throw error(code::failed_precondition, "there is no tensor to write into a .npy file");
    auto descr = descr_of(t.element());
    if (t.element() == dtype::string) elements = room = string_elements(t, descr);
    else elements = {static_cast<char const*>(t.raw()), t.bytes()};
    head = head_of(descr, t.shape());
  }
  pieces(pieces const&) = delete;
  pieces& operator=(pieces const&) = delete;
};

}  // namespace npy

/// A tensor as the bytes of a .npy file of version 1. Strings become NumPy's characters; a bfloat16 becomes two bytes
/// without a meaning ('<V2'), as when Python's ml_dtypes writes it: view them as such there.
inline std::string npy_bytes(tensor const& t) {
  npy::pieces const p(t);
  return p.head + std::string(p.elements);
}

/// Writes a .npy file, which appears whole or not at all.
inline void write_npy(std::filesystem::path const& path, tensor const& t) {
  npy::pieces const p(t);
  output_file file(path);
  file.write(p.head);
  file.write(p.elements);
  file.commit();
}

}  // namespace rill
