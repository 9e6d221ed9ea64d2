// Symbolic numbers that record the C++ expression that computes them.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"

namespace rill {

namespace detail {

/// A part of a formula: an operand or a constant, which is `head`; or head, the operands with `between` between them,
/// and ")".
struct formula_part {
  std::string head;
  std::string_view between;
  std::vector<std::shared_ptr<formula_part const>> operands;
};
using formula_pointer = std::shared_ptr<formula_part const>;

formula_pointer formula_leaf(std::string text);
formula_pointer formula_join(std::string_view head, std::string_view between,
                             std::initializer_list<formula_pointer const*> operands);
/// Returns the text of a formula. Parts that are used more than once get names.
std::string formula_text(formula_part const& whole);
/// Returns a constant of a type of lanes, exactly: `L(0x1.8p+0)`, `L(3)`.
std::string formula_constant(char lane, double number);
std::string formula_constant(char lane, long long number);
std::string formula_constant(char lane, unsigned long long number);

}  // namespace detail

/// A symbolic number: it records the C++ expression of lanes (packet.hpp, scalar.hpp) that computes it, for compilers
/// that a program calls when it runs. It has the functions of lanes. In the text `Lane` is the name of their type: 'L',
/// or 'W' for the type in which functions of several operations compute (float for 16-bit floats, else L itself).
template <char Lane> struct formula_in {
  using f = formula_in const&;
  // Models a lane, so that compositions such as leaky_relu accept it.
  using element = float;
  using truth = formula_in;
  static constexpr std::size_t lanes = 1;

  detail::formula_pointer part;

  /// An operand of this name.
  explicit formula_in(std::string_view name) : part(detail::formula_leaf(std::string(name))) {}
  explicit formula_in(detail::formula_pointer what) : part(std::move(what)) {}
  /// A constant.
  template <class N>
    requires(std::is_arithmetic_v<N> && sizeof(N) <= 8)
  formula_in(N n) {
    using widest = std::conditional_t<std::is_floating_point_v<N>, double,
                                      std::conditional_t<std::is_signed_v<N>, long long, unsigned long long>>;
    part = detail::formula_leaf(detail::formula_constant(Lane, static_cast<widest>(n)));
  }

  std::string text() const { return detail::formula_text(*part); }

  /// Returns the number in the type in which functions of several operations compute.
  formula_in<'W'> widened() const
    requires(Lane == 'L')
  {
    return formula_in<'W'>(detail::formula_join("widened(", "", {&part}));
  }
  /// Returns what was computed from `widened()`, rounded.
  static formula_in rounded(formula_in<'W'> const& y)
    requires(Lane == 'L')
  {
    return formula_in(detail::formula_join("rounded<L>(", "", {&y.part}));
  }

  formula_in& operator+=(f y) { return *this = *this + y; }
  formula_in& operator-=(f y) { return *this = *this - y; }
  formula_in& operator*=(f y) { return *this = *this * y; }
  formula_in& operator/=(f y) { return *this = *this / y; }

  friend formula_in operator+(f x, f y) { return between(x, " + ", y); }
  friend formula_in operator-(f x, f y) { return between(x, " - ", y); }
  friend formula_in operator*(f x, f y) { return between(x, " * ", y); }
  friend formula_in operator/(f x, f y) { return between(x, " / ", y); }
  friend formula_in operator-(f x) { return call("(-", x); }
  friend formula_in operator&(f x, f y) { return between(x, " & ", y); }
  friend formula_in operator|(f x, f y) { return between(x, " | ", y); }
  friend formula_in operator^(f x, f y) { return between(x, " ^ ", y); }
  friend formula_in operator~(f x) { return call("(~", x); }
  friend formula_in operator!(f x) { return call("(!", x); }
  friend formula_in operator<<(f x, f y) { return between(x, " << ", y); }
  friend formula_in operator>>(f x, f y) { return between(x, " >> ", y); }
  friend formula_in operator<<(f x, int by) { return between(x, " << ", formula_in(std::to_string(by))); }
  friend formula_in operator>>(f x, int by) { return between(x, " >> ", formula_in(std::to_string(by))); }
  friend formula_in operator==(f x, f y) { return between(x, " == ", y); }
  friend formula_in operator!=(f x, f y) { return between(x, " != ", y); }
  friend formula_in operator<(f x, f y) { return between(x, " < ", y); }
  friend formula_in operator<=(f x, f y) { return between(x, " <= ", y); }
  friend formula_in operator>(f x, f y) { return between(x, " > ", y); }
  friend formula_in operator>=(f x, f y) { return between(x, " >= ", y); }

  friend formula_in equal(f x, f y) { return call("equal(", x, y); }
  friend formula_in not_equal(f x, f y) { return call("not_equal(", x, y); }
  friend formula_in less(f x, f y) { return call("less(", x, y); }
  friend formula_in less_equal(f x, f y) { return call("less_equal(", x, y); }
  friend formula_in greater(f x, f y) { return call("greater(", x, y); }
  friend formula_in greater_equal(f x, f y) { return call("greater_equal(", x, y); }
  friend formula_in logical_and(f x, f y) { return call("logical_and(", x, y); }
  friend formula_in logical_or(f x, f y) { return call("logical_or(", x, y); }
  friend formula_in logical_xor(f x, f y) { return call("logical_xor(", x, y); }
  friend formula_in logical_not(f x) { return call("logical_not(", x); }
  friend formula_in is_nan(f x) { return call("is_nan(", x); }
  friend formula_in is_inf(f x) { return call("is_inf(", x); }
  friend formula_in is_finite(f x) { return call("is_finite(", x); }
  friend formula_in select(f chosen, f x, f y) { return call("select(", chosen, x, y); }

  friend formula_in bit_and(f x, f y) { return call("bit_and(", x, y); }
  friend formula_in bit_or(f x, f y) { return call("bit_or(", x, y); }
  friend formula_in bit_xor(f x, f y) { return call("bit_xor(", x, y); }
  friend formula_in bit_not(f x) { return call("bit_not(", x); }
  friend formula_in shift_left(f x, f y) { return call("shift_left(", x, y); }
  friend formula_in shift_right(f x, f y) { return call("shift_right(", x, y); }

  friend formula_in maximum(f x, f y) { return call("maximum(", x, y); }
  friend formula_in minimum(f x, f y) { return call("minimum(", x, y); }
  friend formula_in abs(f x) { return call("abs(", x); }
  friend formula_in sign(f x) { return call("sign(", x); }
  friend formula_in floor(f x) { return call("floor(", x); }
  friend formula_in ceil(f x) { return call("ceil(", x); }
  friend formula_in round(f x) { return call("round(", x); }
  friend formula_in trunc(f x) { return call("trunc(", x); }
  friend formula_in mod(f x, f y) { return call("mod(", x, y); }
  friend formula_in floor_div(f x, f y) { return call("floor_div(", x, y); }
  friend formula_in sqrt(f x) { return call("sqrt(", x); }
  friend formula_in pow(f x, f y) { return call("pow(", x, y); }
  friend formula_in exp(f x) { return call("exp(", x); }
  friend formula_in exp2(f x) { return call("exp2(", x); }
  friend formula_in expm1(f x) { return call("expm1(", x); }
  friend formula_in log(f x) { return call("log(", x); }
  friend formula_in log2(f x) { return call("log2(", x); }
  friend formula_in log10(f x) { return call("log10(", x); }
  friend formula_in log1p(f x) { return call("log1p(", x); }
  friend formula_in sin(f x) { return call("sin(", x); }
  friend formula_in cos(f x) { return call("cos(", x); }
  friend formula_in tan(f x) { return call("tan(", x); }
  friend formula_in asin(f x) { return call("asin(", x); }
  friend formula_in acos(f x) { return call("acos(", x); }
  friend formula_in atan(f x) { return call("atan(", x); }
  friend formula_in atan2(f y, f x) { return call("atan2(", y, x); }
  friend formula_in sinh(f x) { return call("sinh(", x); }
  friend formula_in cosh(f x) { return call("cosh(", x); }
  friend formula_in tanh(f x) { return call("tanh(", x); }
  friend formula_in asinh(f x) { return call("asinh(", x); }
  friend formula_in acosh(f x) { return call("acosh(", x); }
  friend formula_in atanh(f x) { return call("atanh(", x); }
  friend formula_in sigmoid(f x) { return call("sigmoid(", x); }
  friend formula_in softplus(f x) { return call("softplus(", x); }
  friend formula_in erf(f x) { return call("erf(", x); }
  friend formula_in normal_cdf(f x) { return call("normal_cdf(", x); }
  friend formula_in silu(f x) { return call("silu(", x); }
  friend formula_in gelu(f x) { return call("gelu(", x); }
  friend formula_in gelu_tanh(f x) { return call("gelu_tanh(", x); }
  friend formula_in mish(f x) { return call("mish(", x); }

 private:
  // head + x + ", " + … + ")"
  template <class... X> static formula_in call(std::string_view head, X const&... x) {
    return formula_in(detail::formula_join(head, ", ", {&x.part...}));
  }
  // "(" + x + sign + y + ")"
  static formula_in between(f x, std::string_view sign, f y) {
    return formula_in(detail::formula_join("(", sign, {&x.part, &y.part}));
  }
};
using formula = formula_in<'L'>;  ///< a number in the lanes that a function is called with

}  // namespace rill

#if RILL_RUNTIME
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace rill::detail {

RILL_INLINE formula_pointer formula_leaf(std::string text) {
  return std::make_shared<formula_part const>(formula_part{std::move(text), {}, {}});
}

RILL_INLINE formula_pointer formula_join(std::string_view head, std::string_view between,
                                         std::initializer_list<formula_pointer const*> operands) {
  formula_part p{std::string(head), between, {}};
  for (auto const* o : operands) p.operands.push_back(*o);
  return std::make_shared<formula_part const>(std::move(p));
}

// A part that is used twice is written once. Otherwise a text could double with each step of an iteration.
struct formula_writer {
  std::unordered_map<formula_part const*, std::size_t> uses;
  std::unordered_map<formula_part const*, std::string> names;
  std::string steps;

  void count(formula_part const& p) {
    if (++uses[&p] == 1)
      for (auto const& o : p.operands) count(*o);
  }
  std::string write(formula_part const& p) {
    if (p.operands.empty()) return p.head;
    if (auto const at = names.find(&p); at != names.end()) return at->second;
    std::string s = p.head;
    for (auto const& o : p.operands) {
      if (&o != &p.operands[0]) s += p.between;
      s += write(*o);
    }
    s += ")";
    if (uses[&p] == 1) return s;
    auto const name = "part" + std::to_string(names.size());
    steps += "auto const " + name + " = " + s + "; ";
    return names[&p] = name;
  }
};

RILL_INLINE std::string formula_text(formula_part const& whole) {
  formula_writer w;
  w.count(whole);
  auto const result = w.write(whole);
  return w.steps.empty() ? result : "[&] { " + w.steps + "return " + result + "; }()";
}

RILL_INLINE std::string formula_constant(char lane, double number) {
  std::string const type(1, lane);
  // C++ has no literals of these.
  if (std::isnan(number)) return "(" + type + "(0) / " + type + "(0))";
  if (std::isinf(number)) return "(" + type + (number < 0 ? "(-1) / " : "(1) / ") + type + "(0))";
  char digits[40];
  auto const end = std::to_chars(digits, digits + sizeof digits, std::abs(number), std::chars_format::hex).ptr;
  return type + (std::signbit(number) ? "(-0x" : "(0x") + std::string(digits, end) + ")";
}
RILL_INLINE std::string formula_constant(char lane, long long number) {
  bool const least = number == std::numeric_limits<long long>::min();  // its digits alone are out of range
  return lane + ("(" + std::to_string(least ? number + 1 : number)) + (least ? " - 1)" : ")");
}
RILL_INLINE std::string formula_constant(char lane, unsigned long long number) {
  bool const large = number > static_cast<unsigned long long>(std::numeric_limits<long long>::max());
  return lane + ("(" + std::to_string(number)) + (large ? "u)" : ")");
}

}  // namespace rill::detail
#endif
