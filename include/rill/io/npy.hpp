// NumPy's .npy files, which hold one array (numpy.lib.format, versions 1 to 3).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "rill/base/utf8.hpp"
#include "rill/io/bytes.hpp"
#include "rill/io/file.hpp"
#include "rill/io/npy_header.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

namespace npy {

std::string text_of(char const* p, layout const& l);

/// Reads the elements, in the file's order.
tensor read_elements(std::string_view bytes, layout const& l, shape const& s);

shape reversed(shape s);

/// Returns a tensor with its axes reversed: a Fortran-order array of shape s is stored as a row-major one of shape
/// reversed(s).
tensor transposed(tensor const& from);

}  // namespace npy

/// Parses the bytes of a .npy file. Throws error(unimplemented) for Python objects, records and dates, and
/// error(data_loss) for damaged files; sizes are checked before anything is allocated.
tensor parse_npy(std::string_view bytes);

/// Reads a .npy file of at most `most` bytes.
tensor read_npy(std::filesystem::path const& path, std::uint64_t most = max_file_bytes);

namespace npy {

void append_characters(std::string& to, std::u32string const& characters);

/// Returns strings in NumPy's layout, all of one width: characters of four bytes, or bytes if a string isn't UTF-8.
std::string string_elements(tensor const& t, std::string& descr);

/// A file in two pieces, to avoid a copy of the elements: `elements` refers to the tensor, or to `room`.
struct pieces {
  std::string head, room;
  std::string_view elements;
  tensor kept;  // whose elements these are, on the host

  explicit pieces(tensor const& t);
  pieces(pieces const&) = delete;
  pieces& operator=(pieces const&) = delete;
};

}  // namespace npy

/// Returns a tensor as the bytes of a .npy file of version 1. Strings become NumPy's unicode strings; bfloat16 becomes
/// two untyped bytes ('<V2'), as Python's ml_dtypes writes it: view the array as bfloat16 there.
std::string npy_bytes(tensor const& t);

/// Writes a .npy file, which appears whole or not at all.
void write_npy(std::filesystem::path const& path, tensor const& t);

#if RILL_RUNTIME

namespace npy {

RILL_INLINE std::string text_of(char const* p, layout const& l) {
  std::string s;
  if (!l.unicode) {
    s.assign(p, l.width);
    s.resize(s.find_last_not_of('\0') + 1);
    return s;
  }
  for (std::size_t i = 0; i < l.width; i += 4) {
    auto const c = l.swapped ? load_big<std::uint32_t>(p + i) : load_little<std::uint32_t>(p + i);
    if (!is_character(c))
      throw error(code::data_loss, "a string in a .npy file has a number that is not a Unicode character");
    append_utf8(s, c);
  }
  s.resize(s.find_last_not_of('\0') + 1);
  return s;
}

RILL_INLINE tensor read_elements(std::string_view bytes, layout const& l, shape const& s) {
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

RILL_INLINE shape reversed(shape s) {
  std::reverse(s.values.begin(), s.values.begin() + s.count);
  return s;
}

RILL_INLINE tensor transposed(tensor const& from) {
  tensor t(from.element(), reversed(from.shape()));
  auto const s = t.shape();
  visit(t.element(), [&]<class T>() {
    T const* const source = from.data<T>();
    T* const target = t.mutable_data<T>();
    extents index = s, step = s;
    for (std::size_t axis = 0; axis < s.rank(); ++axis) {
      index[axis] = 0;
      step[axis] = axis == 0 ? 1 : step[axis - 1] * s[axis - 1];
    }
    for (std::int64_t i = 0, offset = 0, n = t.elements(); i < n; ++i) {
      target[i] = source[offset];
      for (auto axis = s.rank(); axis-- > 0;) {
        offset += step[axis];
        if (++index[axis] < s[axis]) break;
        offset -= step[axis] * s[axis];
        index[axis] = 0;
      }
    }
  });
  return t;
}

}  // namespace npy

RILL_INLINE tensor parse_npy(std::string_view bytes) try {
  auto const h = npy::take_header(bytes);
  auto const n = elements(h.shape);
  auto const need = checked_product(n, static_cast<std::int64_t>(h.layout.width));
  if (static_cast<std::uint64_t>(need) != bytes.size() || (need == 0 && n != 0))
    throw error(code::data_loss, "a .npy file has " + std::to_string(bytes.size()) +
                                     " bytes of elements, but its header gives " + std::to_string(n) + " elements of " +
                                     std::to_string(h.layout.width) + " bytes");
  if (!h.fortran || h.shape.rank() < 2) return npy::read_elements(bytes, h.layout, h.shape);
  return npy::transposed(npy::read_elements(bytes, h.layout, npy::reversed(h.shape)));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE tensor read_npy(std::filesystem::path const& path, std::uint64_t most) try {
  auto const bytes = read_file(path, most);
  return files::naming(path, [&] { return parse_npy(bytes); });
} catch (...) {
  rethrow_as_error();
}

namespace npy {

RILL_INLINE void append_characters(std::string& to, std::u32string const& characters) {
  for (auto c : characters) append_little(to, static_cast<std::uint32_t>(c));
}

RILL_INLINE std::string string_elements(tensor const& t, std::string& descr) {
  std::size_t longest = 1, longest_bytes = 1;
  bool unicode = true;
  for (auto const& s : t.span<std::string>()) {
    if (s.ends_with('\0'))
      throw error(code::invalid_argument, "a string ends with a zero byte, which NumPy would strip");
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
    if (unicode) append_characters(bytes, *decode_utf8(s));
    else bytes += s;
    bytes.resize(end);
  }
  return bytes;
}

RILL_INLINE pieces::pieces(tensor const& t) {
  if (!t) throw error(code::failed_precondition, "a .npy file can't hold an empty tensor handle");
  auto descr = descr_of(t.element());
  if (t.element() == dtype::string) elements = room = string_elements(t, descr);
  else kept = t.to(host), elements = {static_cast<char const*>(kept.raw()), t.bytes()};
  head = head_of(descr, t.shape());
}

}  // namespace npy

RILL_INLINE std::string npy_bytes(tensor const& t) try {
  npy::pieces const p(t);
  return p.head + std::string(p.elements);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void write_npy(std::filesystem::path const& path, tensor const& t) try {
  npy::pieces const p(t);
  output_file file(path);
  file.write(p.head);
  file.write(p.elements);
  file.commit();
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
