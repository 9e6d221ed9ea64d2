// Compile errors of operations that refuse their operands: the sentence is in the name of a type, which compilers print
// in the first line. g++ prints a template argument with text of any length; clang prints at most 36 characters of an
// array, so the sentence is cut into pieces for clang.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "rill/type/checks.hpp"
#include "rill/type/type.hpp"

namespace rill {

/// A sentence as a template argument, in pieces of `First - 1`, … characters. g++ prints `error_text<12>{"expected
/// two"}`, and clang `error_text<9, 4>{"expected", {"two"}}`.
template <std::size_t First, std::size_t... More> struct error_text {
  char text[First] = {};
  error_text<More...> more;
  template <class Sentence>
  constexpr explicit error_text(Sentence const& s, std::size_t piece = 0) : more(s, piece + 1) {
    s.copy_piece(piece, text);
  }
};
template <std::size_t Last> struct error_text<Last> {
  char text[Last] = {};
  template <class Sentence> constexpr explicit error_text(Sentence const& s, std::size_t piece = 0) {
    s.copy_piece(piece, text);
  }
};

/// The type that a compiler names when an operation refuses its operands. `Text` is the sentence.
template <auto Text> struct shape_error {};

namespace detail {

/// A sentence composed while a program compiles. One that is longer than the array is cut and ends in "...".
struct sentence {
#if defined(__clang__)
  static constexpr std::size_t longest_piece = 36;
#else
  static constexpr std::size_t longest_piece = SIZE_MAX;
#endif
  char text[4000] = {};
  std::size_t size = 0;

  constexpr sentence& operator<<(std::string_view words) {
    for (char c : words) {
      if (size < sizeof(text)) text[size++] = c;
      else text[size - 1] = text[size - 2] = text[size - 3] = '.';
    }
    return *this;
  }
  constexpr sentence& operator<<(char const* words) { return *this << std::string_view(words); }
  constexpr sentence& operator<<(std::int64_t number) {
    if (number < 0) *this << "-";
    char digits[20] = {};
    std::size_t first = sizeof(digits);
    do digits[--first] = static_cast<char>('0' + (number < 0 ? -(number % 10) : number % 10));
    while ((number /= 10) != 0);
    return *this << std::string_view(digits + first, sizeof(digits) - first);
  }
  constexpr sentence& operator<<(dim const& d) {
    return d.named() ? *this << std::string_view(d.name) : d == unknown ? *this << "?" : *this << d.extent;
  }
  constexpr sentence& operator<<(type const& t) {
    *this << name(t.element) << "[";
    for (std::size_t i = 0; t.has_rank() && i < t.rank; ++i) *this << (i > 0 ? ", " : "") << t[i];
    return *this << (t.has_rank() ? "]" : "...]");
  }
  /// "(float32[2], int32[])".
  constexpr sentence& append_list(std::span<type const> types) {
    *this << "(";
    for (std::size_t i = 0; i < types.size(); ++i) *this << (i > 0 ? ", " : "") << types[i];
    return *this << ")";
  }
  constexpr sentence& operator<<(mismatch const& r) {
    *this << r.why;
    if (r.before == nullptr) return *this;
    *this << ": " << r.before;
    append_number(r.one);
    *this << r.between;
    return append_number(r.other);
  }
  /// Writes a name or a number: the -1 of an axis is no unknown extent.
  constexpr sentence& append_number(dim const& d) { return d.named() ? *this << d : *this << d.extent; }

  /// Returns the end of the piece that begins at `begin`: after the last space that keeps it short enough.
  constexpr std::size_t end_of_piece(std::size_t begin) const {
    if (size - begin <= longest_piece) return size;
    auto end = begin + longest_piece;
    while (end > begin && text[end - 1] != ' ') --end;
    return end > begin ? end : begin + longest_piece;
  }
  constexpr std::string_view piece(std::size_t i) const {
    std::size_t begin = 0;
    while (i-- > 0) begin = end_of_piece(begin);
    return std::string_view(text, size).substr(begin, end_of_piece(begin) - begin);
  }
  constexpr std::size_t pieces() const {
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < size; begin = end_of_piece(begin)) ++count;
    return count;
  }
  /// Copies piece `i` and a zero. Each character is written, or clang would print the array as numbers.
  template <std::size_t N> constexpr void copy_piece(std::size_t i, char (&to)[N]) const {
    auto const from = piece(i);
    for (std::size_t k = 0; k < N; ++k) to[k] = k < from.size() ? from[k] : '\0';
  }
};

/// Returns a sentence such as "matmul(float32[3, 4], float32[2, 3]): the columns of the first are not the rows of the
/// second: 4 against 2".
constexpr sentence sentence_of(std::string_view operation, std::span<type const> inputs, mismatch r) {
  sentence s;
  s << operation;
  s.append_list(inputs) << ": ";
  std::string_view const why = r.why;  // most sentences begin with the operation's name
  if (why.starts_with(operation) && why.substr(operation.size()).starts_with(": ")) r.why += operation.size() + 2;
  return s << r;
}

/// Writes the type of a handle: "float32[2]", or "(float32[2], int32[])" for a tuple.
template <class X> struct spelling {
  static constexpr void append(sentence& to) {
    if constexpr (requires { X::static_type; }) to << X::static_type;
    else to << "a handle of another kind";
  }
};
template <class... X> struct spelling<std::tuple<X...>> {
  static constexpr void append(sentence& to) {
    to << "(";
    [[maybe_unused]] bool first = true;
    ((to << (std::exchange(first, false) ? "" : ", "), spelling<X>::append(to)), ...);
    to << ")";
  }
};

/// Returns a sentence such as "cond: the two branches return other types: float32[2] against (float32[2], int32[])".
template <class One, class Other> constexpr sentence sentence_of_handles(std::string_view why) {
  sentence s;
  s << why << ": ";
  spelling<One>::append(s);
  s << " against ";
  spelling<Other>::append(s);
  return s;
}
constexpr sentence sentence_of_types(std::string_view why, type const& one, type const& other) {
  return sentence{} << why << ": " << one << " against " << other;
}

constexpr sentence sentence_of_signatures(std::string_view why, std::span<type const> one,
                                          std::span<type const> other) {
  sentence s;
  s << why << ": ";
  s.append_list(one) << " against ";
  return s.append_list(other);
}

/// Returns a shape_error with the sentence. The type of its text is a parameter, so that clang prints numbers for the
/// lengths of its pieces.
template <sentence S, class Text> constexpr auto named_by() { return shape_error<Text(S)>{}; }

/// Returns an object of the type whose name is the sentence; using a member that it doesn't have makes compilers print
/// the name.
template <sentence S> constexpr auto named() {
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    return named_by<S, error_text<S.piece(Index).size() + 1 ...>>();
  }(std::make_index_sequence<S.pieces()>{});
}

}  // namespace detail
}  // namespace rill
