// Batches of examples that lie in memory: shuffled anew each epoch, the same for the same seed, resumable at any place.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/base/epochs.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// How batches are drawn.
struct batches_options {
  std::uint64_t seed = 0;  ///< of the shuffling
  bool shuffle = true;     ///< otherwise the examples come in order, and batches share their memory
  bool partial = true;     ///< whether the rest of an epoch comes as a smaller batch; dropped otherwise
};

/// Where a sequence of batches stands: the epoch, and how many of its examples have been drawn.
struct batch_position {
  std::int64_t epoch = 0, index = 0;
  friend constexpr bool operator==(batch_position, batch_position) = default;
};

namespace detail {

/// The type of some rows of a tensor of type T.
constexpr type rows_of(type t) {
  expects(!t.has_rank() || t.rank > 0, "batches: a scalar has no rows; examples are counted by the first axis");
  if (t.has_rank()) t[0] = unknown;
  return t;
}

template <class T> struct batch_of {
  using type = tensor;
};
template <type T> struct batch_of<tensor_of<T>> {
  using type = tensor_of<rows_of(T)>;
};

/// The order of an epoch's examples: a function of seed and epoch alone (Fisher-Yates on SplitMix64).
void shuffle(std::vector<std::int64_t>& order, std::uint64_t seed, std::int64_t epoch);

/// Copies rows `order[first…last)` of `from` into `to`, which has so many rows.
void copy_rows(tensor const& from, std::vector<std::int64_t> const& order, std::int64_t first, std::int64_t last,
               tensor& to);

/// What batches of whatever examples have in common: where they stand, and which examples come next.
class batch_course {
 public:
  /// How many batches an epoch has.
  std::int64_t per_epoch() const { return rows_ / size_ + (options_.partial && rows_ % size_ != 0); }
  /// How many batches there are in all.
  std::int64_t total() const { return per_epoch() * epochs_; }
  /// What comes after the batch that was drawn last; save it beside the variables to go on from there.
  batch_position position() const { return position_; }
  /// Goes on from a saved position; error(invalid_argument) if these examples don't have it.
  void resume(batch_position at);

 protected:
  batch_course(std::int64_t size, std::int64_t epochs, batches_options options);
  /// There are as many examples as this tensor has rows; error(invalid_argument) if another has a different number.
  void count(tensor const& t);
  /// Whether there is another batch: then its rows can be taken, and it is `done` with.
  bool next();
  /// Its rows of `from`, in a buffer that is written again once the caller has let go of it.
  tensor take(tensor const& from, tensor& into) const;
  void done();

 private:
  std::int64_t last() const { return position_.index + std::min(size_, rows_ - position_.index); }
  void settle();

  std::int64_t size_, epochs_, rows_ = -1;
  batches_options options_;
  batch_position position_;
  std::int64_t shuffled_ = -1;  // the epoch whose order is in order_
  std::vector<std::int64_t> order_;
};

}  // namespace detail

/// A range of tuples of tensors, made by `batches`. Drawing moves its position, so a second loop goes on where the
/// first one stopped.
template <class... Tensors> class batch_range : public detail::batch_course {
 public:
  using batch = std::tuple<typename detail::batch_of<Tensors>::type...>;

  batch_range(std::tuple<Tensors...> examples, std::int64_t size, rill::epochs many, batches_options options)
      : batch_course(size, many.count, options), examples_(std::move(examples)) {
    std::apply([&](auto const&... each) { (count(each), ...); }, examples_);
  }

  class iterator {
   public:
    using value_type = batch;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    explicit iterator(batch_range* range) : range_(range) {}
    batch const& operator*() const { return range_->drawn_; }
    iterator& operator++() {
      more_ = range_->draw();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(iterator const& i, std::default_sentinel_t) { return !i.more_; }

   private:
    friend batch_range;
    batch_range* range_;
    bool more_ = true;
  };
  iterator begin() {
    iterator i(this);
    return ++i;
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  bool draw() {
    drawn_ = {};  // lets go of the buffers
    if (!next()) return false;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(drawn_) = std::tuple_element_t<I, batch>(take(std::get<I>(examples_), buffers_[I]))), ...);
    }(std::index_sequence_for<Tensors...>{});
    done();
    return true;
  }

  std::tuple<Tensors...> examples_;
  std::array<tensor, sizeof...(Tensors)> buffers_;
  batch drawn_;
};

/// Batches of `size` examples, which the tensors' first axes count:
/// `for (auto const& [images, labels] : batches(std::tuple{images, labels}, 32, epochs(20))) …`. A batch stays as it is
/// as long as somebody holds it.
template <class... Tensors>
  requires(sizeof...(Tensors) > 0 && (std::derived_from<Tensors, tensor> && ...))
batch_range<Tensors...> batches(std::tuple<Tensors...> examples, std::int64_t size, epochs many = epochs(1),
                                batches_options options = {}) {
  return {std::move(examples), size, many, options};
}

#if RILL_RUNTIME

namespace detail {

RILL_INLINE void shuffle(std::vector<std::int64_t>& order, std::uint64_t seed, std::int64_t epoch) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  constexpr auto mixed = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  std::uint64_t state = mixed(seed + golden) + static_cast<std::uint64_t>(epoch);
  for (auto n = order.size(); n > 1; --n) std::swap(order[n - 1], order[mixed(state += golden) % n]);
}

RILL_INLINE void copy_rows(tensor const& from, std::vector<std::int64_t> const& order, std::int64_t first,
                           std::int64_t last, tensor& to) {
  if (from.elements() == 0) return;
  auto const each = static_cast<std::size_t>(from.elements() / from.shape()[0]);
  for (auto i = first; i < last; ++i) {
    auto const source = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]) * each;
    auto const place = static_cast<std::size_t>(i - first) * each;
    if (from.element() == dtype::string) {
      std::copy_n(from.data<std::string>() + source, each, to.mutable_data<std::string>() + place);
      continue;
    }
    auto const size = size_of(from.element());
    std::memcpy(static_cast<std::byte*>(to.mutable_raw()) + place * size,
                static_cast<std::byte const*>(from.raw()) + source * size, each * size);
  }
}

RILL_INLINE batch_course::batch_course(std::int64_t size, std::int64_t epochs, batches_options options)
    : size_(size), epochs_(epochs), options_(options) {
  expects(size_ > 0, "batches: a batch has at least one example");
  expects(epochs_ >= 0, "batches: the number of epochs is negative");
}

RILL_INLINE void batch_course::resume(batch_position at) {
  expects(at.epoch >= 0 && at.index >= 0 && at.index <= rows_, "batches: there is no such position");
  position_ = at;
  shuffled_ = -1;
  settle();
}

RILL_INLINE void batch_course::count(tensor const& t) {
  if (!t) throw error(code::invalid_argument, "batches: an empty tensor handle was given for examples");
  expects(t.rank() > 0, "batches: a scalar has no rows; examples are counted by the first axis");
  if (rows_ >= 0 && t.shape()[0] != rows_)
    throw error(code::invalid_argument, "batches: there are " + std::to_string(rows_) + " examples in one tensor and " +
                                            std::to_string(t.shape()[0]) + " in another");
  rows_ = t.shape()[0];
}

// At an epoch's end: the next one's beginning.
RILL_INLINE void batch_course::settle() {
  if (position_.index < (options_.partial ? rows_ : rows_ / size_ * size_)) return;
  ++position_.epoch;
  position_.index = 0;
}

RILL_INLINE bool batch_course::next() {
  if (position_.epoch >= epochs_ || per_epoch() == 0) return false;
  if (options_.shuffle && shuffled_ != position_.epoch) {
    order_.resize(static_cast<std::size_t>(rows_));
    shuffle(order_, options_.seed, shuffled_ = position_.epoch);
  }
  return true;
}

RILL_INLINE tensor batch_course::take(tensor const& from, tensor& into) const {
  if (!options_.shuffle) return from.rows(position_.index, last());
  if (!into || !into.storage().unique()) {
    shape s = from.shape();
    s[0] = std::min(size_, rows_);
    into = tensor(from.element(), s);
  }
  auto rows = into.rows(0, last() - position_.index);
  copy_rows(from, order_, position_.index, last(), rows);
  return rows;
}

RILL_INLINE void batch_course::done() {
  position_.index = last();
  settle();
}

}  // namespace detail

#endif

}  // namespace rill
