// The waits that come before each instruction. If one instruction at a time is begun, always the earliest that is
// ready, then only waits change the order of instructions.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rill/run/plan/dependencies.hpp"

namespace rill {

/// For each instruction, the set of waiting instructions that must be done before it begins, and before it is done. If
/// an instruction is earlier in the plan than another, and its second set is a subset of the other's first set, then it
/// is done before the other begins: otherwise it, or one of its predecessors, would be ready, and would be begun first.
class arrivals {
 public:
  using instruction_id = plan_ids::instruction_id;
  /// The number of a set.
  using set = std::uint32_t;
  static constexpr set nothing = 0;
  /// A set that is not kept, because there is no room; it is a subset of no other.
  static constexpr set unknown = UINT32_MAX;

  /// `waits` says which instructions may wait. The sets take at most `most_words` words in all.
  arrivals(dependencies const& d, indexed<instruction_id, bool> const& waits,
           std::size_t most_words = std::size_t{1} << 23);

  set before_begin(instruction_id at) const { return begins_[at]; }
  set before_end(instruction_id at) const { return ends_[at]; }
  /// Whether all of one set is in another.
  bool within(set sub, set whole) const;
  /// Returns the union of two sets.
  set joined(set a, set b);
  /// Whether one instruction is always done before another begins.
  bool operator()(instruction_id earlier, instruction_id later) const {
    return earlier < later && within(ends_[earlier], begins_[later]);
  }

 private:
  std::uint64_t const* words_of(set s) const { return all_.data() + s * words_; }
  // Returns the number of the last set in `all_`; removes it if it equals an earlier one.
  set number_of_last();

  std::size_t words_, most_;
  std::vector<std::uint64_t> all_;  // a row a set
  indexed<instruction_id, set> begins_, ends_;
  std::unordered_multimap<std::uint64_t, set> numbers_;  // by hash
  std::unordered_map<std::uint64_t, set> known_joints_;  // by both numbers
};

#if RILL_RUNTIME
RILL_INLINE arrivals::arrivals(dependencies const& d, indexed<instruction_id, bool> const& waits,
                               std::size_t most_words)
    : most_(most_words), begins_(d.size()), ends_(d.size()) {
  std::size_t count = 0;
  for (bool w : waits) count += w;
  words_ = (count + 63) / 64;
  all_.resize(words_);
  numbers_.emplace(0, nothing);
  std::size_t bit = 0;
  for (auto at : d.instructions()) {
    set begins = nothing;
    for (auto b : d.before(at)) begins = joined(begins, ends_[b]);
    begins_[at] = ends_[at] = begins;
    if (!waits[at]) continue;
    if (begins != unknown && all_.size() + words_ <= most_) {
      all_.resize(all_.size() + words_);
      auto* const last = all_.data() + all_.size() - words_;
      std::copy_n(words_of(begins), words_, last);
      last[bit / 64] |= std::uint64_t{1} << bit % 64;
      ends_[at] = number_of_last();
    } else ends_[at] = unknown;
    ++bit;
  }
}

RILL_INLINE bool arrivals::within(set sub, set whole) const {
  if (sub == nothing) return true;
  if (sub == unknown || whole == unknown) return false;
  if (sub == whole) return true;
  auto const *a = words_of(sub), *b = words_of(whole);
  for (std::size_t w = 0; w < words_; ++w)
    if ((a[w] & ~b[w]) != 0) return false;
  return true;
}

RILL_INLINE arrivals::set arrivals::joined(set a, set b) {
  if (a == b || b == nothing) return a;
  if (a == nothing) return b;
  if (a == unknown || b == unknown) return unknown;
  if (a > b) std::swap(a, b);
  auto const [known, fresh] = known_joints_.try_emplace(std::uint64_t{a} << 32 | b, unknown);
  if (fresh && all_.size() + words_ <= most_) {
    all_.resize(all_.size() + words_);
    auto* const made = all_.data() + all_.size() - words_;
    for (std::size_t w = 0; w < words_; ++w) made[w] = words_of(a)[w] | words_of(b)[w];
    known->second = number_of_last();
  }
  return known->second;
}

RILL_INLINE arrivals::set arrivals::number_of_last() {
  auto const last = static_cast<set>(all_.size() / words_ - 1);
  std::uint64_t hash = 0;
  for (std::size_t w = 0; w < words_; ++w) hash = (hash ^ words_of(last)[w]) * 0x9e3779b97f4a7c15u + (hash >> 29);
  auto const [from, to] = numbers_.equal_range(hash);
  for (auto at = from; at != to; ++at)
    if (std::equal(words_of(last), words_of(last) + words_, words_of(at->second))) {
      all_.resize(all_.size() - words_);
      return at->second;
    }
  numbers_.emplace(hash, last);
  return last;
}
#endif

}  // namespace rill
