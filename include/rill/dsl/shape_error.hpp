// Compile errors of operations that refuse their operands: the sentence is in the name of a type, which compilers print
// in the first line.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "rill/base/fixed_string.hpp"
#include "rill/type/checks.hpp"
#include "rill/type/type.hpp"

namespace rill {

/// The type that a compiler names when an operation refuses its operands. The words are the sentence, in several pieces
/// because clang prints at most 36 characters of each.
template <fixed_string... Words> struct shape_error {};

namespace detail {

/// A sentence composed while a program compiles.
struct sentence {
  static constexpr std::size_t longest_piece = 36;
  char text[640] = {};
  std::size_t size = 0;

  constexpr sentence& operator<<(std::string_view words) {
    for (std::size_t i = 0; i < words.size() && size < sizeof(text); ++i) text[size++] = words[i];
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
    return *this << ": " << r.before << r.one << r.between << r.other;
  }

  /// Returns the end of the piece that begins at `begin`: after the last space that keeps it short enough.
  constexpr std::size_t end_of_piece(std::size_t begin) const {
    if (size - begin <= longest_piece) return size;
    auto end = begin + longest_piece;
    while (end > begin && text[end - 1] != ' ') --end;
    return end > begin ? end : begin + longest_piece;
  }
  constexpr std::size_t begin_of_piece(std::size_t i) const {
    std::size_t begin = 0;
    while (i-- > 0) begin = end_of_piece(begin);
    return begin;
  }
  constexpr std::size_t pieces() const {
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < size; begin = end_of_piece(begin)) ++count;
    return count;
  }
  constexpr std::string_view piece(std::size_t i) const {
    auto const begin = begin_of_piece(i);
    return std::string_view(text, size).substr(begin, end_of_piece(begin) - begin);
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

/// Returns an object of the type whose name is the sentence; using a member that it doesn't have makes compilers print
/// the name.
template <sentence S> constexpr auto named() {
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    return shape_error<fixed_string<S.piece(Index).size() + 1>(S.piece(Index))...>{};
  }(std::make_index_sequence<S.pieces()>{});
}

}  // namespace detail
}  // namespace rill
