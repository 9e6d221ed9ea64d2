// Batches of examples in memory: shuffled anew in each epoch, the same for the same seed, resumable at any position.
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

/// How examples are shuffled and batched.
struct batches_options {
  std::uint64_t seed = 0;  ///< the seed of the shuffling
  bool shuffle = true;     ///< if false, the examples come in order, and batches share their memory, a device's too
  bool partial = true;     ///< whether an epoch ends with a smaller batch; if false, its last examples are dropped
  /// How many workers share the examples, and which of them this is, from 0. Each draws one batch of a round, so in an
  /// epoch each example comes once among all of them. All have the same position after the same number of batches: it
  /// counts the examples of all workers, and any number of workers resumes there. The last, smaller, round is divided
  /// evenly. If fewer examples than workers are left at the end of an epoch, they are dropped.
  std::int64_t workers = 1, worker = 0;
};

/// A position in a sequence of batches: the epoch, and the number of its examples drawn so far.
struct batch_position {
  std::int64_t epoch = 0, index = 0;
  friend constexpr bool operator==(batch_position, batch_position) = default;
};

namespace detail {

/// Returns the type of a batch of rows of a tensor of type t.
constexpr type rows_of(type t) {
  expects(!t.has_rank() || t.rank > 0, "batches: expected a tensor with a first axis of examples, got a scalar");
  if (t.has_rank()) t[0] = unknown;
  return t;
}

template <class T> struct batch_of {
  using type = tensor;
};
template <type T> struct batch_of<tensor_of<T>> {
  using type = tensor_of<rows_of(T)>;
};

/// Fills `order` with a permutation that depends only on seed, epoch and size (Fisher-Yates on SplitMix64).
void shuffle(std::vector<std::int64_t>& order, std::uint64_t seed, std::int64_t epoch);

/// Copies rows `order[first…last)` of `from` to `to`, which has `last - first` rows; both are on the host.
void copy_rows(tensor const& from, std::vector<std::int64_t> const& order, std::int64_t first, std::int64_t last,
               tensor& to);

/// The base of all batch ranges: the position, and the choice of the next examples.
class batch_sequence {
 public:
  /// Returns the number of batches in an epoch, for each worker.
  std::int64_t per_epoch() const { return rows_ / round() + (rows_ % round() >= least_round()); }
  /// Returns the number of batches in all epochs; 2^63 - 1 if there are more.
  std::int64_t total() const {
    auto const each = per_epoch();
    return each != 0 && epochs_ > INT64_MAX / each ? INT64_MAX : each * epochs_;
  }
  /// Returns the position after the last drawn batch; save it with the variables to resume there.
  batch_position position() const { return position_; }
  /// Resumes at a saved position. Throws error(invalid_argument) if it is not within these examples.
  void resume(batch_position at);
  /// Resumes at the position after that many batches. Throws error(invalid_argument) if the number is negative.
  void resume_after(std::int64_t count);

 protected:
  batch_sequence(std::int64_t size, std::int64_t epochs, batches_options options);
  /// Sets the number of examples to the tensor's rows, and copies those to the host that are to be shuffled. Throws
  /// error(invalid_argument) if another tensor has a different number.
  void count(tensor& t);
  /// Whether there is another batch. If so, call `take` for each tensor, then `done`.
  bool next();
  /// Returns the batch's rows of `from`, in the buffer `into`, which is reused after the caller has released it.
  tensor take(tensor const& from, tensor& into) const;
  /// Moves to the next batch.
  void done();

 private:
  std::int64_t round() const { return size_ * options_.workers; }  // examples of all workers
  std::int64_t least_round() const { return options_.partial ? options_.workers : round(); }
  std::int64_t of_round() const { return std::min(round(), rows_ - position_.index); }
  // The end of the worker's examples of a round, which begin where the worker before it ends.
  std::int64_t end_of(std::int64_t worker) const {
    return position_.index + of_round() * (worker + 1) / options_.workers;
  }
  std::int64_t first() const { return end_of(options_.worker - 1); }
  std::int64_t last() const { return end_of(options_.worker); }
  void start_next_epoch_at_end();

  std::int64_t size_, epochs_, rows_ = -1;
  batches_options options_;
  batch_position position_;
  std::int64_t shuffled_ = -1;  // the epoch whose order is in order_
  std::vector<std::int64_t> order_;
};

}  // namespace detail

/// The range of batches that `batches` returns; each batch is a tuple of tensors. Iterating moves the range's position,
/// so a second loop continues where the first one stopped.
template <class... Tensors> class batch_range : public detail::batch_sequence {
 public:
  using batch = std::tuple<typename detail::batch_of<Tensors>::type...>;

  batch_range(std::tuple<Tensors...> examples, std::int64_t size, rill::epochs many, batches_options options)
      : batch_sequence(size, many.count, options), examples_(std::move(examples)) {
    std::apply([&](auto&... each) { (count(each), ...); }, examples_);
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
    drawn_ = {};  // releases the buffers
    if (!next()) return false;
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      ((std::get<Index>(drawn_) =
            std::tuple_element_t<Index, batch>(take(std::get<Index>(examples_), buffers_[Index]))),
       ...);
    }(std::index_sequence_for<Tensors...>{});
    done();
    return true;
  }

  std::tuple<Tensors...> examples_;
  std::array<tensor, sizeof...(Tensors)> buffers_;
  batch drawn_;
};

/// Returns a range of batches of `size` examples; the tensors' first axes are the examples:
/// `for (auto const& [images, labels] : batches(std::tuple{images, labels}, 32, epochs(20))) …`. A batch keeps its
/// elements as long as a copy of it exists. Throws error(invalid_argument) if the tensors differ in their numbers of
/// examples, `size` is below 1, or the number of epochs is negative.
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

RILL_INLINE batch_sequence::batch_sequence(std::int64_t size, std::int64_t epochs, batches_options options) try
    : size_(size), epochs_(epochs), options_(options) {
  if (size_ <= 0)
    throw error(code::invalid_argument, "batches: expected a batch size above 0, got " + std::to_string(size_));
  if (epochs_ < 0)
    throw error(code::invalid_argument,
                "batches: expected a number of epochs from 0 on, got " + std::to_string(epochs_));
  if (options_.worker < 0 || options_.worker >= options_.workers || options_.workers > INT64_MAX / size_)
    throw error(code::invalid_argument, "batches: expected one of the workers, counted from 0, got worker " +
                                            std::to_string(options_.worker) + " of " +
                                            std::to_string(options_.workers));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void batch_sequence::resume(batch_position at) try {
  if (at.epoch < 0 || at.index < 0 || at.index > rows_)
    throw error(code::invalid_argument, "batches: expected an epoch from 0 on and an index from 0 to " +
                                            std::to_string(rows_) + ", got epoch " + std::to_string(at.epoch) +
                                            ", index " + std::to_string(at.index));
  position_ = at;
  shuffled_ = -1;
  start_next_epoch_at_end();
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void batch_sequence::resume_after(std::int64_t count) try {
  if (count < 0)
    throw error(code::invalid_argument,
                "batches: expected a number of batches from 0 on, got " + std::to_string(count));
  auto const each = std::max<std::int64_t>(per_epoch(), 1);
  resume({count / each, count % each * round()});
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void batch_sequence::count(tensor& t) try {
  if (!t) throw error(code::invalid_argument, "batches: expected examples, got an empty tensor handle");
  expects(t.rank() > 0, "batches: expected a tensor with a first axis of examples, got a scalar");
  if (rows_ >= 0 && t.shape()[0] != rows_)
    throw error(code::invalid_argument, "batches: expected equal numbers of examples, got " + std::to_string(rows_) +
                                            " in one tensor and " + std::to_string(t.shape()[0]) + " in another");
  rows_ = t.shape()[0];
  if (options_.shuffle) t = t.to(host);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void batch_sequence::start_next_epoch_at_end() {
  if (position_.index + least_round() <= rows_) return;
  ++position_.epoch;
  position_.index = 0;
}

RILL_INLINE bool batch_sequence::next() try {
  if (position_.epoch >= epochs_ || per_epoch() == 0) return false;
  if (options_.shuffle && shuffled_ != position_.epoch) {
    order_.resize(static_cast<std::size_t>(rows_));
    shuffle(order_, options_.seed, shuffled_ = position_.epoch);
  }
  return true;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE tensor batch_sequence::take(tensor const& from, tensor& into) const try {
  if (!options_.shuffle) return from.rows(first(), last());
  if (!into || !into.storage().unique()) {
    shape s = from.shape();
    s[0] = std::min(size_, rows_);
    into = tensor(from.element(), s);
  }
  auto rows = into.rows(0, last() - first());
  copy_rows(from, order_, first(), last(), rows);
  return rows;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void batch_sequence::done() {
  position_.index += of_round();
  start_next_epoch_at_end();
}

}  // namespace detail

#endif

}  // namespace rill
