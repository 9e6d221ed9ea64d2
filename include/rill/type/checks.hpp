// The checks of an operation's inference: errors at run time, sentences as data while a program compiles.
#pragma once
#include <cstdint>
#include <string>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"
#include "rill/type/dim.hpp"

namespace rill {

/// Why an operation refuses its operands: a sentence, and the two numbers or names that clash, if there are any.
struct mismatch {
  char const* why = nullptr;                         ///< the sentence; null if the operands are accepted
  char const *before = nullptr, *between = nullptr;  ///< the text before the first number, and before the second
  dim one{}, other{};

  /// Returns the mismatch as text, without node and operands: "the extents differ: 3 against 4".
  std::string text() const;
};

/// Checks operands in an operation's `infer`: `expects(condition, "sentence")`. At run time a failed check throws
/// error(invalid_argument). While a program compiles, the first mismatch is stored instead and `infer` continues to its
/// end; its result is not used. After a failed check it must not divide by the refused value, index with it or loop
/// over it: return early, or the compiler reports that error in place of the sentence. Missing extents read as unknown.
class checks {
 public:
  constexpr checks() = default;
  constexpr explicit checks(mismatch& first) : first_(&first) {}

  /// Returns `ok`, so that `infer` can stop: `if (!expects(x.rank > 0, "sentence")) return x;`.
  constexpr bool operator()(bool ok, char const* why) const {
    if (!ok) refuse({why});
    return ok;
  }
  /// The same for two extents, with which the sentence ends: ": 3 against 4".
  constexpr bool operator()(bool ok, char const* why, dim const& one, dim const& other) const {
    if (!ok) refuse({why, "", " against ", one, other});
    return ok;
  }
  /// The same for an axis, with which the sentence ends: ": axis 2 of rank 2".
  constexpr bool axis(bool ok, char const* why, std::int64_t axis, std::int64_t rank) const {
    if (ok) return ok;
    mismatch r{why, "axis ", " of rank "};
    r.one.extent = axis;  // which may be negative
    r.other.extent = rank;
    refuse(r);
    return ok;
  }

 private:
  constexpr void refuse(mismatch const& r) const;
  mismatch* first_ = nullptr;
};

namespace detail {
[[noreturn]] void throw_mismatch(mismatch const& r);
}

constexpr void checks::refuse(mismatch const& r) const {
  if (first_ == nullptr) detail::throw_mismatch(r);
  if (first_->why == nullptr) *first_ = r;
}

#if RILL_RUNTIME
RILL_INLINE std::string mismatch::text() const {
  if (before == nullptr) return why;
  auto const written = [](dim const& d) { return d.named() ? d.text() : std::to_string(d.extent); };
  return std::string(why) + ": " + before + written(one) + between + written(other);
}

RILL_INLINE void detail::throw_mismatch(mismatch const& r) { throw error(code::invalid_argument, r.text()); }
#endif

}  // namespace rill
