// A tensor as text, as NumPy prints an array: aligned columns, nested brackets, long arrays shortened.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "rill/tensor/decimal.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// Options of `text`; the defaults are NumPy's.
struct print_options {
  int precision = 8;              ///< the most digits after the decimal point
  std::int64_t threshold = 1000;  ///< tensors with more elements show only the ends of each axis
  std::int64_t edge_items = 3;    ///< the number of items shown at each end of a shortened axis
  std::int64_t line_width = 75;   ///< the most columns of a line; longer rows continue on the next line
};

/// Returns the elements as `str(array)` of NumPy 2.4 writes them. Strings are quoted as in Python, a scalar has no
/// brackets, and an empty handle is "(no tensor)".
std::string text(tensor const& t, print_options const& options = {});

namespace printing {

template <class T> double as_double(T x) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else return static_cast<float>(x);
}

/// The magnitude from which NumPy uses scientific notation: 10 to the number of digits that the type holds exactly, at
/// most 1e8.
template <class T> constexpr double scientific_from = sizeof(T) == 2 ? 1e3 : sizeof(T) == 4 ? 1e6 : 1e8;

std::string non_finite(double x, bool plus);

/// Formats floating-point numbers to words of equal width (NumPy's FloatingFormat with floatmode "maxprec").
template <class T> class float_words {
 public:
  float_words(std::vector<T> const& values, int precision, bool plus) : plus_(plus), precision_(precision) {
    scientific_ = wants_scientific(values);
    for (auto v : values)
      if (auto const x = as_double(v); std::isfinite(x)) measure(v);
    for (auto v : values)
      if (auto const x = as_double(v); !std::isfinite(x)) make_room(non_finite(x, plus_).size());
  }

  std::string operator()(T value) const {
    auto const x = as_double(value);
    if (!std::isfinite(x)) return pad_left(non_finite(x, plus_), left_ + 1 + right_);
    if (scientific_) return in_powers_of_ten(value);
    auto const p = split(value);
    return pad_left(p.whole, left_) + "." + p.fraction + std::string(right_ - p.fraction.size(), ' ');
  }

 private:
  struct parts {
    std::string whole, fraction;
    int exponent = 0;
  };

  /// Whether the values need scientific notation; compared and divided in T, as NumPy does.
  static bool wants_scientific(std::vector<T> const& values) {
    double least = 0, most = 0;
    for (auto v : values) {
      auto const x = std::fabs(as_double(v));
      if (!std::isfinite(x) || x == 0) continue;
      least = least == 0 ? x : std::min(least, x);
      most = std::max(most, x);
    }
    if (most == 0) return false;
    auto const in_type = [](double x) { return as_double(T(static_cast<wide>(x))); };
    return most >= scientific_from<T> || least < in_type(0.0001) || in_type(most / least) > 1000;
  }
  using wide = std::conditional_t<std::same_as<T, double>, double, float>;

  parts split(T value) const {
    auto d = shortest_decimal(value);
    auto const keep = precision_ + 1 + (scientific_ ? 0 : d.exponent);
    if (static_cast<int>(d.digits.size()) > keep)
      d = keep < 1 ? decimal{"0", 0, false} : decimals::rounded(as_double(value), keep);
    if (scientific_) return mantissa(value, d);
    positional p(d);
    return {sign(value) + p.whole, p.fraction, 0};
  }
  parts mantissa(T value, decimal const& d) const {
    return {sign(value) + d.digits[0], d.digits.substr(1), d.exponent};
  }
  std::string sign(T value) const { return std::signbit(as_double(value)) ? "-" : plus_ ? "+" : ""; }
  /// The value in scientific notation. Missing digits are digits of the number itself, not zeros after its shortest
  /// digits.
  std::string in_powers_of_ten(T value) const {
    auto p = split(value);
    if (p.fraction.size() < fraction_)
      p = mantissa(value, decimals::rounded(as_double(value), static_cast<int>(fraction_) + 1));
    p.fraction.append(fraction_ - p.fraction.size(), '0');
    return pad_left(p.whole, left_) + "." + p.fraction + "e" + exponent_text(p.exponent, exponent_digits_);
  }
  void measure(T value) {
    auto const p = split(value);
    left_ = std::max(left_, p.whole.size());
    fraction_ = std::max(fraction_, p.fraction.size());
    if (scientific_) exponent_digits_ = std::max(exponent_digits_, exponent_text(p.exponent).size() - 1);
    right_ = scientific_ ? fraction_ + exponent_digits_ + 2 : fraction_;
  }
  void make_room(std::size_t width) {
    if (left_ + 1 + right_ < width) left_ = width - 1 - right_;
  }
  static std::string pad_left(std::string word, std::size_t width) {
    if (word.size() < width) word.insert(0, width - word.size(), ' ');
    return word;
  }

  bool plus_, scientific_ = false;
  int precision_;
  std::size_t left_ = 0, right_ = 0, fraction_ = 0, exponent_digits_ = 2;
};

template <class T> std::vector<std::string> words(std::vector<T> const& values, print_options const& o) {
  float_words<T> const format(values, o.precision, false);
  std::vector<std::string> out;
  for (auto v : values) out.push_back(format(v));
  return out;
}

template <class R> std::vector<std::string> words(std::vector<std::complex<R>> const& values, print_options const& o) {
  std::vector<R> real, imag;
  for (auto v : values) real.push_back(v.real()), imag.push_back(v.imag());
  float_words<R> const real_format(real, o.precision, false), imag_format(imag, o.precision, true);
  std::vector<std::string> out;
  for (auto v : values) {
    auto i = imag_format(v.imag());
    i.insert(i.find_last_not_of(' ') + 1, 1, 'j');
    out.push_back(real_format(v.real()) + i);
  }
  return out;
}

template <std::integral T> std::vector<std::string> words(std::vector<T> const& values, print_options const&) {
  std::vector<std::string> out;
  std::size_t width = 0;
  for (auto v : values) {
    if constexpr (std::same_as<T, bool>) out.push_back(v ? "True" : "False");
    else out.push_back(std::to_string(v));
  }
  for (auto const& w : out) width = std::max({width, w.size(), std::same_as<T, bool> ? std::size_t{5} : 0});
  for (auto& w : out) w.insert(0, width - w.size(), ' ');
  return out;
}

/// Returns a string in quotes with control characters escaped, as Python writes it.
std::string quoted(std::string const& s);

std::vector<std::string> words(std::vector<std::string> const& values, print_options const&);

/// Returns the width of a UTF-8 string in columns: its number of characters.
std::int64_t columns(std::string_view s);

/// Lays words out in nested brackets (NumPy's _formatArray).
class bracket_layout {
 public:
  bracket_layout(rill::shape const& s, std::vector<std::string> words, std::int64_t edge, std::int64_t width);

  std::string operator()() { return nested(0, width_); }

 private:
  bool skips(std::size_t axis) const { return shape_[axis] - edge_ > edge_; }
  std::int64_t shown(std::size_t axis) const { return skips(axis) ? 2 * edge_ : shape_[axis]; }

  std::string nested(std::size_t axis, std::int64_t width);
  std::string row(std::size_t axis, std::int64_t width);

  rill::shape shape_;
  std::vector<std::string> words_;
  std::int64_t edge_, width_;
  std::size_t next_ = 0;
};

/// Appends the elements that are shown, in order.
template <class T>
void gather_shown(tensor const& t, std::int64_t edge, std::size_t axis, std::int64_t offset, std::vector<T>& out) {
  if (axis == t.rank()) return out.push_back(t.data<T>()[offset]);
  auto const extent = t.shape()[axis];
  for (std::int64_t i = 0; i < extent; ++i) {
    if (extent - edge > edge && i == edge) i = extent - edge;
    if (i < extent) gather_shown(t, edge, axis + 1, offset * extent + i, out);
  }
}

inline std::string scalar_text(bool x) { return x ? "True" : "False"; }
inline std::string scalar_text(std::string const& x) { return x; }
template <std::integral T> std::string scalar_text(T x) { return std::to_string(x); }

template <class T> std::string number_text(T value, std::string_view behind_whole) {
  auto const x = as_double(value);
  if (!std::isfinite(x)) return non_finite(x, false);
  auto const d = shortest_decimal(value);
  std::string const sign = std::signbit(x) ? "-" : "";
  auto const limit = sizeof(T) == 8 ? 1e16 : scientific_from<T>;
  if (x != 0 && (std::fabs(x) >= limit || std::fabs(x) < 1e-4))
    return sign + d.digits[0] + (d.digits.size() > 1 ? "." + d.digits.substr(1) : "") + "e" + exponent_text(d.exponent);
  positional p(d);
  return sign + p.whole + (p.fraction.empty() ? std::string(behind_whole) : "." + p.fraction);
}
template <class T> std::string scalar_text(T x) { return number_text(x, ".0"); }
template <class R> std::string scalar_text(std::complex<R> x) {
  auto imag = number_text(x.imag(), "") + "j";
  if (x.real() == 0 && !std::signbit(x.real())) return imag;
  if (std::isnan(x.imag()) || !std::signbit(x.imag())) imag.insert(0, 1, '+');
  return "(" + number_text(x.real(), "") + imag + ")";
}

}  // namespace printing

std::string text(tensor const& t, print_options const& options);

/// Writes `text(t)`.
inline std::ostream& operator<<(std::ostream& to, tensor const& t) { return to << text(t); }
/// Writes a type as errors do: "float32[2, n]".
inline std::ostream& operator<<(std::ostream& to, type const& t) { return to << t.text(); }
/// Writes an element type's name: "float32".
inline std::ostream& operator<<(std::ostream& to, dtype d) { return to << name(d); }
/// Writes extents, or axes: "[2, 3]".
inline std::ostream& operator<<(std::ostream& to, extents const& e) { return to << e.text(); }
/// Writes an extent as types do: "3", "batch" or "?". (A template, because numbers convert to extents.)
template <std::same_as<dim> Dim> std::ostream& operator<<(std::ostream& to, Dim const& d) { return to << d.text(); }
/// Writes a 16-bit float as a float.
inline std::ostream& operator<<(std::ostream& to, half x) { return to << static_cast<float>(x); }
inline std::ostream& operator<<(std::ostream& to, bfloat16 x) { return to << static_cast<float>(x); }
/// Writes an error's code by its name: "invalid_argument".
inline std::ostream& operator<<(std::ostream& to, code c) { return to << name(c); }
/// Writes an error's sentence.
inline std::ostream& operator<<(std::ostream& to, error const& e) { return to << e.what(); }

#if RILL_RUNTIME

namespace printing {

RILL_INLINE std::string non_finite(double x, bool plus) {
  return std::string(std::signbit(x) && !std::isnan(x) ? "-" : plus ? "+" : "") + (std::isnan(x) ? "nan" : "inf");
}

RILL_INLINE std::string quoted(std::string const& s) {
  char const quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : s) {
    auto const u = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') out += {'\\', c};
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (u < 0x20 || u == 0x7f) out += {'\\', 'x', "0123456789abcdef"[u >> 4], "0123456789abcdef"[u & 15]};
    else out += c;
  }
  return out + quote;
}

RILL_INLINE std::vector<std::string> words(std::vector<std::string> const& values, print_options const&) {
  std::vector<std::string> out;
  for (auto const& v : values) out.push_back(quoted(v));
  return out;
}

RILL_INLINE std::int64_t columns(std::string_view s) {
  return std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

RILL_INLINE bracket_layout::bracket_layout(rill::shape const& s, std::vector<std::string> words, std::int64_t edge,
                                           std::int64_t width)
    : shape_(s), words_(std::move(words)), edge_(edge), width_(width) {}

RILL_INLINE std::string bracket_layout::nested(std::size_t axis, std::int64_t width) {
  if (axis + 1 == shape_.rank()) return row(axis, width - 1);
  std::string const indent(axis + 1, ' '), gap(shape_.rank() - axis - 1, '\n');
  std::string s = "[";
  for (std::int64_t i = 0; i < shown(axis); ++i) {
    if (i != 0) s += gap + indent;
    if (skips(axis) && i == edge_) s += "..." + gap + indent;
    s += nested(axis + 1, width - 1);
  }
  if (skips(axis) && shown(axis) == 0) s += "...";
  return s + "]";
}

RILL_INLINE std::string bracket_layout::row(std::size_t axis, std::int64_t width) {
  std::string const indent(axis + 1, ' ');
  std::string done, line = indent;
  auto const add = [&](std::string const& word) {
    if (columns(line) + columns(word) > width && line.size() > indent.size()) {
      done += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = indent;
    }
    line += word;
  };
  for (std::int64_t i = 0; i < shown(axis); ++i) {
    if (skips(axis) && i == edge_) add("..."), line += ' ';
    add(words_[next_++]);
    if (i + 1 < shown(axis)) line += ' ';
  }
  if (skips(axis) && shown(axis) == 0) add("...");
  return "[" + (done + line).substr(indent.size()) + "]";
}

}  // namespace printing

RILL_INLINE std::string text(tensor const& t, print_options const& options) try {
  if (!t) return "(no tensor)";
  if (t.elements() == 0) return "[]";
  if (t.space()) return text(t.to(host), options);
  expects(options.precision >= 0 && options.edge_items >= 0,
          "print_options: precision and edge_items must not be negative");
  return visit(t.element(), [&]<class T>() {
    if (t.rank() == 0) return printing::scalar_text(t.item<T>());
    bool const shortened = t.elements() > options.threshold;
    auto const edge = shortened ? std::min(options.edge_items, t.elements()) : t.elements();
    std::vector<T> shown;
    printing::gather_shown(t, edge, 0, 0, shown);
    return printing::bracket_layout(t.shape(), printing::words(shown, options), edge, options.line_width)();
  });
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
