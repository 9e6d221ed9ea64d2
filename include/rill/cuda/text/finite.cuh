// Copies words and finds the first one that is not finite.
#pragma once
#include "rill/cuda/text/index_check.cuh"

namespace rill::text {

/// Copies n words. A word is part of a float that is not finite if all bits of `exponent` are set in it; the position
/// of the first such word is left in `first`. `to` may be `from`.
template <class Word>
void copy_finite(global<Word const> from, global<Word> to, long n, Word exponent, global<bad_position> first) {
  for_each_index(n, [&](long i) {
    Word const word = from[i];
    if ((word & exponent) == exponent) note_bad(first, static_cast<bad_position>(i));
    to[i] = word;
  });
}

}  // namespace rill::text
