// Equations of einsum: which axes of the operands are the same, and which of them the result has.
#pragma once
#include <algorithm>
#include <span>
#include <string_view>

#include "rill/type/type.hpp"

namespace rill::ops {

/// The labels of a value's axes: the letters of a term, and -1, -2, … for the axes of an ellipsis, from the last one.
using axis_labels = extents;

/// An equation such as "bij,bjk->bik" for operands of the given types. All functions also run while a program compiles.
class einsum_equation {
 public:
  /// Checks the equation and the types.
  constexpr einsum_equation(std::string_view equation, std::span<type const> operands, checks expects = {})
      : equation_(equation), operands_(operands), expects_(expects) {
    if (!expects(!operands.empty(), "einsum: there are no operands")) return;
    auto const left = equation.substr(0, equation.find("->"));
    auto const terms = static_cast<std::size_t>(std::count(left.begin(), left.end(), ',')) + 1;
    fits_ = expects(terms == operands.size(), "einsum: the equation does not have a term for each operand",
                    static_cast<std::int64_t>(terms), static_cast<std::int64_t>(operands.size()));
    for (std::size_t i = 0; fits_ && i < terms; ++i) check(operands[i]), check_term(i);
    if (fits_) check_result();
  }

  /// Returns the labels of an operand's axes.
  constexpr axis_labels operand(std::size_t i) const {
    auto const text = term(i);
    return labels_of(text, letters(text) < operands_[i].rank ? operands_[i].rank - letters(text) : 0);
  }
  /// Returns the labels of the result's axes: those behind "->"; without it the axes of ellipses, and the letters that
  /// occur once, in alphabetical order, as in NumPy.
  constexpr axis_labels result() const {
    auto const arrow = equation_.find("->");
    if (arrow != equation_.npos) return labels_of(equation_.substr(arrow + 2), ellipsis_rank());
    axis_labels y = labels_of("...", ellipsis_rank());
    for (char letter = 'A'; letter <= 'z'; ++letter)
      if (is_letter(letter) && std::count(equation_.begin(), equation_.end(), letter) == 1) append(y, letter);
    return y;
  }
  /// Returns the type of the result.
  constexpr type result_type() const {
    if (!fits_) return {};
    type y{operands_[0].element};
    for (auto const label : result()) y.push_back(extent(label));
    return y;
  }
  /// Returns the extent of a label: that of all operands which have it, of which an extent of 1 broadcasts.
  constexpr dim extent(std::int64_t label) const {
    dim all = 1;
    for (std::size_t i = 0; i < operands_.size(); ++i)
      if (auto const axes = operand(i); axes.contains(label))
        all = broadcast(all, extent_in(operands_[i], axes, label), expects_);
    return all;
  }

 private:
  static constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static constexpr std::size_t letters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_letter));
  }
  static constexpr bool has_ellipsis(std::string_view text) { return text.find("...") != text.npos; }

  // Returns the text of an operand's term.
  constexpr std::string_view term(std::size_t i) const {
    auto text = equation_.substr(0, equation_.find("->"));
    for (; i > 0; --i) text.remove_prefix(text.find(',') + 1);
    return text.substr(0, text.find(','));
  }
  constexpr std::size_t ellipsis_rank() const {
    std::size_t most = 0;
    for (std::size_t i = 0; i < operands_.size(); ++i)
      if (letters(term(i)) < operands_[i].rank) most = std::max(most, operands_[i].rank - letters(term(i)));
    return most;
  }
  constexpr void append(axis_labels& to, std::int64_t label) const {
    if (expects_(to.size() < max_rank, "einsum: a term has more than 8 axes; the highest rank is 8"))
      to.push_back(label);
  }
  constexpr axis_labels labels_of(std::string_view text, std::size_t of_ellipsis) const {
    axis_labels y;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_letter(text[i])) append(y, text[i]);
      if (!text.substr(i).starts_with("...")) continue;
      for (auto k = static_cast<std::int64_t>(of_ellipsis); k > 0; --k) append(y, -k);
      i += 2;
    }
    return y;
  }

  // Returns the extent of a label in one operand, whose axes with that label must agree.
  constexpr dim extent_in(type const& x, axis_labels const& axes, std::int64_t label) const {
    dim one = unknown;
    for (std::size_t i = 0; i < axes.size() && i < x.rank; ++i)
      if (axes[i] == label)
        one = agree(x[i], one, "einsum: two axes of an operand have one letter and different extents", expects_);
    return one;
  }
  constexpr void check(type const& x) {
    fits_ = fits_ && expects_(x.has_rank(), "einsum: the rank of an operand is not known; give it one by as");
    expects_(x.element == operands_[0].element, "einsum: the operands have different element types; cast one of them");
    expects_(dtypes::numbers.contains(x.element), "einsum: the operands are not of numbers; cast them");
  }
  // Letters, and dots only as one ellipsis.
  constexpr void check_text(std::string_view text) {
    auto const dots = std::count(text.begin(), text.end(), '.');
    bool fits = dots == (has_ellipsis(text) ? 3 : 0);
    for (char const c : text) fits = fits && (is_letter(c) || c == '.' || c == ' ');
    fits_ = expects_(fits, "einsum: a term consists of letters and at most one ellipsis (...)") && fits_;
  }
  constexpr void check_term(std::size_t i) {
    auto const text = term(i);
    check_text(text);
    if (!fits_) return;
    auto const n = static_cast<std::int64_t>(letters(text)), rank = static_cast<std::int64_t>(operands_[i].rank);
    fits_ = has_ellipsis(text)
                ? expects_(n <= rank, "einsum: an operand has fewer axes than letters", rank, n)
                : expects_(n == rank, "einsum: an operand does not have an axis for each letter", rank, n);
  }
  constexpr void check_result() {
    auto const arrow = equation_.find("->");
    if (arrow != equation_.npos) check_text(equation_.substr(arrow + 2));
    if (!fits_) return;
    auto const y = result();
    for (std::size_t i = 0; i < y.size(); ++i) {
      bool once = true, there = y[i] < 0;
      for (std::size_t k = 0; k < i; ++k) once = once && y[k] != y[i];
      for (std::size_t k = 0; k < operands_.size(); ++k) there = there || operand(k).contains(y[i]);
      expects_(once, "einsum: the result has a letter twice");
      expects_(there, "einsum: the result has a letter that no operand has");
    }
    for (std::size_t i = 0; i < operands_.size(); ++i)
      for (auto const label : operand(i)) extent(label);  // refuses extents that differ
  }

  std::string_view equation_;
  std::span<type const> operands_;
  checks expects_;
  bool fits_ = false;
};

}  // namespace rill::ops
