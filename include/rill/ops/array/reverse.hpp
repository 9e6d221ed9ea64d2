// Axes walked from their ends.
#pragma once
#include "rill/dsl/expr.hpp"

#if RILL_DEFINITIONS
#include "rill/tensor/elements.hpp"
#endif

namespace rill::ops {

#if RILL_DEFINITIONS
/// Copies an array with some of its axes turned round, line by line: a line is what lies behind the last such axis.
class reversed_copy {
 public:
  reversed_copy(dtype d, shape const& s, std::array<bool, max_rank> const& turned) : element_(d), rank_(s.rank()) {
    while (rank_ > 0 && !turned[rank_ - 1]) line_ *= s[--rank_];
    for (std::size_t i = rank_; i-- > 0; lines_ *= s[i]) {
      extents_[i] = s[i];
      apart_[i] = turned[i] ? -lines_ : lines_;
      if (turned[i]) start_ += (s[i] - 1) * lines_;
    }
    if (line_ == 0) lines_ = 0;
  }
  void operator()(void* to, void const* from, parallel const& threads) const {
    auto const size = line_ * static_cast<std::int64_t>(size_of(element_));
    auto const each = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, size));  // lines worth a hand-over
    auto const chunks = static_cast<std::size_t>((lines_ + each - 1) / each);
    auto const chunk = [&](std::size_t c) {
      auto const first = static_cast<std::int64_t>(c) * each;
      copy(static_cast<std::byte*>(to), static_cast<std::byte const*>(from), first, std::min(lines_, first + each));
    };
    if (element_ != dtype::string) return threads(chunks, chunk);
    for (std::size_t c = 0; c < chunks; ++c) chunk(c);  // copying a string may throw, which a thread's chunk must not
  }

 private:
  void copy(std::byte* to, std::byte const* from, std::int64_t first, std::int64_t last) const {
    auto const size = line_ * static_cast<std::int64_t>(size_of(element_));
    std::array<std::int64_t, max_rank> index{};
    auto source = start_;
    for (auto i = rank_, rest = static_cast<std::size_t>(first); i-- > 0;) {
      index[i] = static_cast<std::int64_t>(rest) % extents_[i];
      rest /= static_cast<std::size_t>(extents_[i]);
      source += index[i] * apart_[i];
    }
    for (auto line = first; line < last; ++line) {
      copy_elements(element_, to + line * size, from + source * size, static_cast<std::size_t>(line_));
      for (auto i = rank_; i-- > 0;) {
        source += apart_[i];
        if (++index[i] < extents_[i]) break;
        source -= extents_[i] * apart_[i];
        index[i] = 0;
      }
    }
  }

  dtype element_;
  std::size_t rank_;  ///< axes before the line
  std::int64_t line_ = 1, lines_ = 1, start_ = 0;
  std::array<std::int64_t, max_rank> extents_{}, apart_{};
};
#endif

struct reverse_op {
  using library = void;
  static constexpr std::string_view name = "reverse", doc = "x with the given axes walked from their ends";
  static constexpr std::int8_t arity = 1;
  struct attributes {
    extents axes;
    static constexpr auto fields(auto const& take) { return take(field{"axes", &attributes::axes}); }
  };
  /// Which axes are turned round.
  static constexpr std::array<bool, max_rank> turned(attributes const& a, std::size_t rank, checks expects = {}) {
    std::array<bool, max_rank> which{};
    for (auto axis : a.axes) {
      auto const i = checked_axis(axis, rank, "reverse: an axis lies outside of the operand's rank", expects);
      expects(!which[i], "reverse: an axis is named twice");
      which[i] = true;
    }
    return which;
  }
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    if (x.has_rank()) turned(a, x.rank, expects);
    return x;
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {reverse(V(r.dy()), decode<attributes>(r.origin().attributes).axes)};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const& x = r.inputs[0];
    reversed_copy const copy(x.element, x.shape(), turned(decode<attributes>(r.at.attributes), x.rank));
    return kernel([copy](kernel_call const& call) { copy(call.out(0), call.in(0), call.threads); });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// x with the given axes walked from their ends: `reverse<0>(x)`, `reverse<-1, -2>(x)`.
template <std::int64_t... Axes, operand X>
  requires(sizeof...(Axes) > 0)
auto reverse(X x) {
  return record<ops::reverse_op, ops::reverse_op::attributes{extents{Axes...}}>(x);
}
/// The same for axes that only the run of the program knows.
inline value reverse(value x, extents const& axes) {
  return record_erased<ops::reverse_op>(detail::graph_of(x), {axes}, {x});
}

}  // namespace rill
